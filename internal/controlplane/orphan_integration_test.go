//go:build integration

package controlplane_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/internal/controlplane"
)

// starterEnv makes the test binary start a server, print where it is, and wait to be killed.
const starterEnv = "CONTROLPLANE_TEST_STARTER"

func TestOrphanedServerStopsAndRemovesItsDirectory(t *testing.T) {
	if program := os.Getenv(starterEnv); program != "" {
		server, err := controlplane.Start(context.Background(), controlplane.Options{Binary: program})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("STARTED", server.URL(), server.Dir())
		<-server.Done() // never: this process is killed first
		return
	}
	program := binary(t)
	starter := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	starter.Env = append(os.Environ(), starterEnv+"="+program)
	starter.Stderr = os.Stderr
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	var fields []string
	for sc := bufio.NewScanner(out); len(fields) != 3 && sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "STARTED ") {
			fields = strings.Fields(sc.Text())
		}
	}
	killErr := starter.Process.Kill()
	_ = starter.Wait() // says that it was killed
	if killErr != nil || len(fields) != 3 {
		t.Fatalf("the starter said %q, kill: %v", fields, killErr)
	}
	url, dir := fields[1], fields[2]
	eventually(t, "the orphaned server ends", func() error {
		if _, err := os.Stat(dir); err == nil {
			return fmt.Errorf("%s is still there", dir)
		}
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "https://"))
		if err == nil {
			conn.Close()
			return fmt.Errorf("%s still answers", url)
		}
		return nil
	})
}
