// Package bench measures predicates beside what else could run them, in one process
// and in turns, so that the ratios mean something on a machine that does other work:
//
//	cd test/bench && go test -bench . -benchtime 20x
//
// prints the CPU time of each way, and how many times ours it is. It is a module of its
// own, as the peers are dependencies that nothing else needs. The test holds that all
// ways say the same of the same objects; nothing is timed there.
package bench
