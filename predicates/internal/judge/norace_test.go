//go:build !race

package judge

// raceEnabled: the race detector is on, which allocates and takes its time.
const raceEnabled = false
