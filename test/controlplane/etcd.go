package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/donewhen/donewhen/test/controlplane/state"
)

// Unix sockets in the working directory, which only its owner can enter: etcd asks nobody for a password, and a socket
// has no port to collide with.
const (
	etcdClientURL = "unix://etcd-client.sock"
	etcdPeerURL   = "unix://etcd-peer.sock"
)

const etcdStartLimit = 30 * time.Second

// startEtcd starts an etcd of one member. It doesn't sync its files: they survive the process, but not the machine.
func startEtcd(ctx context.Context, dir *state.Dir) (*embed.Etcd, error) {
	cfg := embed.NewConfig()
	cfg.Dir = dir.EtcdDir()
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{dir.LogFile()}
	for _, u := range []struct {
		text              string
		listen, advertise *[]url.URL
	}{
		{etcdClientURL, &cfg.ListenClientUrls, &cfg.AdvertiseClientUrls},
		{etcdPeerURL, &cfg.ListenPeerUrls, &cfg.AdvertisePeerUrls},
	} {
		parsed, err := url.Parse(u.text)
		if err != nil {
			return nil, fmt.Errorf("parse etcd URL: %w", err)
		}
		*u.listen, *u.advertise = []url.URL{*parsed}, []url.URL{*parsed}
	}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd in %s: %w", cfg.Dir, err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err = <-etcd.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(etcdStartLimit):
		err = fmt.Errorf("not ready after %v", etcdStartLimit)
	}
	etcd.Close()
	return nil, fmt.Errorf("wait for etcd: %w", err)
}
