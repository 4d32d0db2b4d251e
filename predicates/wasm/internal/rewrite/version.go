package rewrite

// Version says which rewriter this is, for those who keep what Module returned. It is
// raised whenever Module makes something else of a module, or refuses others: a test
// holds what it makes of the fixtures.
const Version = 5
