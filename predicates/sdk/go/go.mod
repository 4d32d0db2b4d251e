module github.com/donewhen/donewhen/predicates/sdk/go

go 1.24
