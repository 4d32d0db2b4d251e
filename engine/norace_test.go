//go:build !race

package engine_test

// historiesByDefault is how many random histories a test run plays.
const historiesByDefault = 10_000
