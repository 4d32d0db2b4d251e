// Command donewhen tests predicates and shows what they do.
//
//	donewhen test predicates/
//
// Exit codes: 0 all went well · 1 a case failed, or a verdict was Failed · 2 something
// couldn't be loaded, or the command line is wrong · 4 nothing ran · 5 a verdict was
// Pending.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	os.Exit(start())
}

// start runs the command until it ends or a signal asks it to; a second signal
// ends the program at once.
func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, filepath.Base(os.Args[0]), os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
}
