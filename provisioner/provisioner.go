package provisioner

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	listers "github.com/donewhen/donewhen/provisioner/azuredisk/client/listers/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	typed "github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/typed/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/internal/keyed"
)

// Engine is what the provisioner needs of *engine.Engine.
type Engine interface {
	Do(ctx context.Context, req engine.Request, write func(context.Context) (metav1.Object, error)) (*engine.Result, error)
}

// Observer is told of every wait. Implementations must be safe for concurrent
// use and quick.
type Observer interface {
	// WaitStarted is called before the operation's write.
	WaitStarted(operation string)
	// WaitEnded is called once after WaitStarted; result is nil unless a verdict
	// ended the wait, err is the provisioner's own error.
	WaitEnded(operation string, result *engine.Result, err error)
}

// Config has everything that a Provisioner depends on. All fields are required
// but Observer.
type Config struct {
	// Client writes the custom resources, and confirms absences.
	Client versioned.Interface
	// Namespace is that of all custom resources.
	Namespace string
	// Volumes, Attachments and Nodes read the caches of the informers that Engine
	// watches. Their objects are never changed.
	Volumes     listers.AzVolumeLister
	Attachments listers.AzVolumeAttachmentLister
	Nodes       listers.AzDriverNodeLister
	// Engine waits. It must be started before the first call.
	Engine Engine
	// Clock times retries and time stamps.
	Clock clock.Clock
	// Logger is used where a context carries none.
	Logger klog.Logger
	// Observer, if not nil, is told of every wait.
	Observer Observer
}

func (c Config) missing() []string {
	var missing []string
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"Client", c.Client != nil},
		{"Namespace", c.Namespace != ""},
		{"Volumes", c.Volumes != nil},
		{"Attachments", c.Attachments != nil},
		{"Nodes", c.Nodes != nil},
		{"Engine", c.Engine != nil},
		{"Clock", c.Clock != nil},
		{"Logger", c.Logger.GetSink() != nil},
	} {
		if !field.set {
			missing = append(missing, field.name)
		}
	}
	return missing
}

// Provisioner implements the CSI calls on custom resources. It is safe for
// concurrent use.
type Provisioner struct {
	volumes     typed.AzVolumeInterface
	attachments typed.AzVolumeAttachmentInterface

	volumeLister     listers.AzVolumeNamespaceLister
	attachmentLister listers.AzVolumeAttachmentNamespaceLister
	nodeLister       listers.AzDriverNodeNamespaceLister
	nodes            typed.AzDriverNodeInterface

	namespace string
	engine    Engine
	clock     clock.Clock
	logger    klog.Logger
	observer  Observer

	busy       keyed.Lock
	claims     claims
	background background
}

// New returns a provisioner that is ready for calls. An error names the fields of
// the Config that are missing. Close must be called in the end.
func New(config Config) (*Provisioner, error) {
	if missing := config.missing(); len(missing) != 0 {
		return nil, fmt.Errorf("make a provisioner: set %s in the Config", strings.Join(missing, ", "))
	}
	observer := config.Observer
	if observer == nil {
		observer = noObserver{}
	}
	client := config.Client.AzureDiskV1beta2()
	p := &Provisioner{
		volumes:          client.AzVolumes(config.Namespace),
		attachments:      client.AzVolumeAttachments(config.Namespace),
		nodes:            client.AzDriverNodes(config.Namespace),
		volumeLister:     config.Volumes.AzVolumes(config.Namespace),
		attachmentLister: config.Attachments.AzVolumeAttachments(config.Namespace),
		nodeLister:       config.Nodes.AzDriverNodes(config.Namespace),
		namespace:        config.Namespace,
		engine:           config.Engine,
		clock:            config.Clock,
		logger:           config.Logger,
		observer:         observer,
	}
	p.background.init()
	return p, nil
}

// Close ends the clean-ups that run in the background and returns when they have.
// Calls that are running are not its business: end their contexts or stop the
// engine. Calling it again does nothing.
func (p *Provisioner) Close() { p.background.close() }

// hold takes the in-process lock of key or returns Aborted.
func (p *Provisioner) hold(parts ...string) (release func(), err error) {
	release, ok := p.busy.TryHold(strings.Join(parts, "\x00"))
	if !ok {
		return nil, newError(codes.Aborted, "another call for %s is running, call again when it has ended", strings.Join(parts, " "))
	}
	return release, nil
}

// wait runs write and waits until the operation's predicate decides.
func (p *Provisioner) wait(
	ctx context.Context, operation string, resource schema.GroupVersionResource, name string, params engine.Params,
	write func(context.Context) (metav1.Object, error),
) (*engine.Result, error) {
	request := engine.Request{
		Ref:       engine.Reference{Resource: resource, Namespace: p.namespace, Name: name},
		Operation: operation,
		Params:    params,
	}
	p.observer.WaitStarted(operation)
	result, err := p.engine.Do(ctx, request, write)
	err = endError(ctx, err, operation+": "+request.Ref.String())
	p.observer.WaitEnded(operation, result, err)
	return result, err
}

// waitForVolume is wait for an operation on the AzVolume of that name.
func (p *Provisioner) waitForVolume(
	ctx context.Context, operation, name string, params engine.Params, write func(context.Context) (*v1beta2.AzVolume, error),
) (*engine.Result, error) {
	return p.wait(ctx, operation, v1beta2.AzVolumes(), name, params, untyped(write))
}

// waitForAttachment is wait for an operation on the AzVolumeAttachment of that name.
func (p *Provisioner) waitForAttachment(
	ctx context.Context, operation, name string, params engine.Params, write func(context.Context) (*v1beta2.AzVolumeAttachment, error),
) (*engine.Result, error) {
	return p.wait(ctx, operation, v1beta2.AzVolumeAttachments(), name, params, untyped(write))
}

// untyped makes of a nil object a nil interface.
func untyped[T any, PT interface {
	*T
	metav1.Object
}](write func(context.Context) (PT, error)) func(context.Context) (metav1.Object, error) {
	return func(ctx context.Context) (metav1.Object, error) {
		object, err := write(ctx)
		if object == nil {
			return nil, err
		}
		return object, err
	}
}

type noObserver struct{}

func (noObserver) WaitStarted(string)                      {}
func (noObserver) WaitEnded(string, *engine.Result, error) {}
