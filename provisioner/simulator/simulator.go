package simulator

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/provisioner/azuredisk/client/informers"
	listers "github.com/donewhen/donewhen/provisioner/azuredisk/client/listers/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	typed "github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/typed/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Defaults of Options.
const (
	DefaultWorkers       = 100
	DefaultDetachTimeout = 5 * time.Minute
)

// resyncPeriod is how often the real controllers look at every object again.
const resyncPeriod = 30 * time.Second

// byVolume indexes attachments by the name of their volume.
const byVolume = "volume"

// Options says how the controllers run. The zero value is useful.
type Options struct {
	// Namespace is where the objects are. Empty: v1beta2.DefaultNamespace.
	Namespace string
	// Workers is how many volumes, and how many attachments, are worked on at
	// the same time. Zero: DefaultWorkers.
	Workers int
	// DetachTimeout is how long the deletion of a volume waits for its
	// attachments to go. Zero: DefaultDetachTimeout.
	DetachTimeout time.Duration
	// Logger gets what the controllers do. The zero value logs nothing.
	Logger klog.Logger
}

// Simulator is the set of controllers. Its methods are safe for concurrent use.
type Simulator struct {
	opts  Options
	cloud *Cloud
	ready chan struct{}

	volumeClient     typed.AzVolumeInterface
	attachmentClient typed.AzVolumeAttachmentInterface

	informers          informers.SharedInformerFactory
	volumeInformer     cache.SharedIndexInformer
	attachmentInformer cache.SharedIndexInformer
	volumes            listers.AzVolumeNamespaceLister
	attachments        listers.AzVolumeAttachmentNamespaceLister
	attachmentDeleted  *signal
}

// New returns controllers over the objects that client reaches and the disks of
// cloud. Nothing happens before Run.
func New(client versioned.Interface, cloud *Cloud, opts Options) (*Simulator, error) {
	if opts.Namespace == "" {
		opts.Namespace = v1beta2.DefaultNamespace
	}
	if opts.Workers == 0 {
		opts.Workers = DefaultWorkers
	}
	if opts.DetachTimeout == 0 {
		opts.DetachTimeout = DefaultDetachTimeout
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, resyncPeriod,
		informers.WithNamespace(opts.Namespace), informers.WithTransform(dropManagedFields))
	group := factory.AzureDisk().V1beta2()
	s := &Simulator{
		opts: opts, cloud: cloud, ready: make(chan struct{}),
		volumeClient:       client.AzureDiskV1beta2().AzVolumes(opts.Namespace),
		attachmentClient:   client.AzureDiskV1beta2().AzVolumeAttachments(opts.Namespace),
		informers:          factory,
		volumeInformer:     group.AzVolumes().Informer(),
		attachmentInformer: group.AzVolumeAttachments().Informer(),
		volumes:            group.AzVolumes().Lister().AzVolumes(opts.Namespace),
		attachments:        group.AzVolumeAttachments().Lister().AzVolumeAttachments(opts.Namespace),
		attachmentDeleted:  newSignal(),
	}
	if err := s.attachmentInformer.AddIndexers(cache.Indexers{byVolume: indexByVolume}); err != nil {
		return nil, fmt.Errorf("index the attachments by volume: %w", err)
	}
	return s, nil
}

// Run takes the lead: it recovers what a former controller left half done and
// then works until ctx ends. Operations that run then are cut off, as in a
// crash: what they did to an object stays, and the next Run recovers it. Every
// goroutine has ended when it returns. It may be called once; the error is
// that of the start, nil after ctx has ended.
func (s *Simulator) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, s.opts.Logger))
	if err := s.lookAround(ctx); err != nil {
		cancel()
		return err
	}
	volumes := newQueue(v1beta2.KindAzVolume, s.cloud.scale(requeueDelay))
	attachments := newQueue(v1beta2.KindAzVolumeAttachment, s.cloud.scale(requeueDelay))
	var workers sync.WaitGroup
	defer func() { // in this order: nothing is enqueued after the queues have shut down
		cancel()
		s.informers.Shutdown()
		volumes.names.ShutDown()
		attachments.names.ShutDown()
		workers.Wait()
	}()
	if err := s.watch(volumes, attachments); err != nil {
		return err
	}
	s.informers.StartWithContext(ctx)
	if synced := s.informers.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
		return nil // ctx has ended
	}
	if err := s.recoverObjects(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	close(s.ready)
	workers.Go(func() { volumes.run(ctx, s.opts.Workers, s.reconcileVolume) })
	workers.Go(func() { attachments.run(ctx, s.opts.Workers, s.reconcileAttachment) })
	<-ctx.Done()
	return nil
}

// lookAround reads a little of what the informers will: they would try for ever
// what can't work.
func (s *Simulator) lookAround(ctx context.Context) error {
	little := metav1.ListOptions{Limit: 1}
	if _, err := s.volumeClient.List(ctx, little); err != nil {
		return s.unreadable("AzVolumes", err)
	}
	if _, err := s.attachmentClient.List(ctx, little); err != nil {
		return s.unreadable("AzVolumeAttachments", err)
	}
	return nil
}

func (s *Simulator) unreadable(kind string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("list the %s in namespace %s: the server doesn't know them, install the CRDs of %s first: %w",
			kind, s.opts.Namespace, v1beta2.GroupName, err)
	}
	return fmt.Errorf("list the %s in namespace %s: %w", kind, s.opts.Namespace, err)
}

// watch lets the informers feed the queues.
func (s *Simulator) watch(volumes, attachments *queue) error {
	if _, err := s.volumeInformer.AddEventHandler(volumes.handler()); err != nil {
		return fmt.Errorf("watch the volumes: %w", err)
	}
	if _, err := s.attachmentInformer.AddEventHandler(attachments.handler()); err != nil {
		return fmt.Errorf("watch the attachments: %w", err)
	}
	_, err := s.attachmentInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(any) { s.attachmentDeleted.broadcast() },
	})
	if err != nil {
		return fmt.Errorf("watch the attachments: %w", err)
	}
	return nil
}

// Ready is closed when the recovery is over and the controllers work.
func (s *Simulator) Ready() <-chan struct{} { return s.ready }

func indexByVolume(object any) ([]string, error) {
	attachment, ok := object.(*v1beta2.AzVolumeAttachment)
	if !ok {
		return nil, nil
	}
	return []string{strings.ToLower(attachment.Spec.VolumeName)}, nil
}

func dropManagedFields(object any) (any, error) {
	if meta, ok := object.(metav1.Object); ok {
		meta.SetManagedFields(nil)
	}
	return object, nil
}

// attachmentsOf returns the cached attachments of a volume.
func (s *Simulator) attachmentsOf(volume string) ([]*v1beta2.AzVolumeAttachment, error) {
	objects, err := s.attachmentInformer.GetIndexer().ByIndex(byVolume, strings.ToLower(volume))
	if err != nil {
		return nil, fmt.Errorf("look up the attachments of volume %s: %w", volume, err)
	}
	attachments := make([]*v1beta2.AzVolumeAttachment, 0, len(objects))
	for _, object := range objects {
		if attachment, ok := object.(*v1beta2.AzVolumeAttachment); ok {
			attachments = append(attachments, attachment)
		}
	}
	return attachments, nil
}

// signal wakes everyone who waits for something to have happened.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func newSignal() *signal { return &signal{ch: make(chan struct{})} }

// next is closed at the next broadcast.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ch
}

func (s *signal) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ch)
	s.ch = make(chan struct{})
}
