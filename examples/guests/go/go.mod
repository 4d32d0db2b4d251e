module github.com/donewhen/donewhen/examples/guests/go

go 1.24

require github.com/donewhen/donewhen/predicates/sdk/go v0.0.0

replace github.com/donewhen/donewhen/predicates/sdk/go => ../../../predicates/sdk/go
