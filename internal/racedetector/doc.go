// Package racedetector says whether the race detector is on, which allocates and
// takes its time: tests that gate either look away then.
//
//	if allocs > 0 && !racedetector.Enabled {
package racedetector
