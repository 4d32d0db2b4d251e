package simulator

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// createDisk makes the volume's disk and returns what the volume's status says
// about it. A disk that exists already is returned as it is.
func (c *Cloud) createDisk(ctx context.Context, volume *v1beta2.AzVolume) (*v1beta2.AzVolumeStatusDetail, error) {
	if err := c.perform(ctx, OperationCreate, volume.Name, ""); err != nil {
		return nil, err
	}
	spec := &volume.Spec
	if err := checkParameters(spec.Parameters); err != nil {
		return nil, err
	}
	shares, err := maxShares(spec.Parameters)
	if err != nil {
		return nil, err
	}
	bytes, err := requestedBytes(spec)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	parameters := map[string]string{}
	maps.Copy(parameters, spec.Parameters)
	parameters["requestedsizegib"] = strconv.FormatInt(roundUpGiB(bytes), 10)
	if source := spec.ContentVolumeSource; source != nil && source.ContentSourceID != "" {
		original := c.disks[strings.ToLower(source.ContentSourceID)]
		if source.ContentSource != v1beta2.ContentSourceVolume || original == nil { // there are no snapshots here
			return nil, failf(v1beta2.ErrorNotFound, "content source %s not found", source.ContentSourceID)
		}
		if bytes > original.capacity {
			parameters["resizeRequired"] = "true"
		}
	}
	id := diskID(spec)
	if c.disks[strings.ToLower(id)] == nil {
		c.disks[strings.ToLower(id)] = &disk{id: id, capacity: bytes, maxShares: shares, luns: map[string]int{}}
	}
	return &v1beta2.AzVolumeStatusDetail{
		VolumeID:           id,
		CapacityBytes:      bytes,
		Parameters:         parameters,
		ContentSource:      spec.ContentVolumeSource.DeepCopy(),
		AccessibleTopology: accessibleTopology(spec),
	}, nil
}

// expandDisk grows a disk and returns its new size in bytes.
func (c *Cloud) expandDisk(ctx context.Context, volume *v1beta2.AzVolume) (int64, error) {
	if err := c.perform(ctx, OperationExpand, volume.Name, ""); err != nil {
		return 0, err
	}
	wanted := volume.Spec.CapacityRange
	if err := checkLimit(wanted, wanted.RequiredBytes); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.disks[strings.ToLower(volume.Status.Detail.VolumeID)]
	if d == nil {
		return 0, failf(v1beta2.ErrorNotFound, "disk %s not found", volume.Status.Detail.VolumeID)
	}
	d.capacity = max(d.capacity, roundUpGiB(wanted.RequiredBytes)*gib)
	return d.capacity, nil
}

// deleteDisk removes a disk. One that is gone already is no error, one that is
// attached is.
func (c *Cloud) deleteDisk(ctx context.Context, volume *v1beta2.AzVolume) error {
	if err := c.perform(ctx, OperationDelete, volume.Name, ""); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.ToLower(volume.Status.Detail.VolumeID)
	if d := c.disks[key]; d != nil && len(d.luns) > 0 {
		return failf(v1beta2.ErrorFailedPrecondition, "disk %s is attached to node %s", d.id, nodesOf(d)[0])
	}
	delete(c.disks, key)
	return nil
}

// reserveLUN finds the LUN that a disk will have on a node and holds it.
func (c *Cloud) reserveLUN(ctx context.Context, volumeID, nodeName string) (int, error) {
	if err := c.perform(ctx, OperationLUN, diskName(volumeID), nodeName); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	node := strings.ToLower(nodeName)
	if !c.nodeExists(node) {
		return 0, failf(v1beta2.ErrorNotFound, "virtual machine of node %s not found", nodeName)
	}
	d := c.disks[strings.ToLower(volumeID)]
	if d == nil {
		return 0, failf(v1beta2.ErrorNotFound, "disk %s not found", volumeID)
	}
	if lun, attached := d.luns[node]; attached {
		return lun, nil
	}
	if len(d.luns) >= d.maxShares {
		return 0, danglingError(d)
	}
	for lun := range c.opts.DisksPerNode {
		if c.luns[node][lun] == "" {
			c.occupy(d, node, lun)
			return lun, nil
		}
	}
	return 0, failf(v1beta2.ErrorResourceExhausted, "node %s has its maximum of %d disks", nodeName, c.opts.DisksPerNode)
}

// attach completes what reserveLUN began. A failure gives the LUN back.
func (c *Cloud) attach(ctx context.Context, volumeID, nodeName string) error {
	err := c.perform(ctx, OperationAttach, diskName(volumeID), nodeName)
	var failure *cloudError
	if errors.As(err, &failure) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if d := c.disks[strings.ToLower(volumeID)]; d != nil {
			c.vacate(d, strings.ToLower(nodeName))
		}
	}
	return err
}

// detach takes a disk off a node. It is no error if it isn't there.
func (c *Cloud) detach(ctx context.Context, volumeID, nodeName string) error {
	if err := c.perform(ctx, OperationDetach, diskName(volumeID), nodeName); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.disks[strings.ToLower(volumeID)]; d != nil {
		c.vacate(d, strings.ToLower(nodeName))
	}
	return nil
}

// nodeExists says whether the node, in lower case, has a virtual machine.
func (c *Cloud) nodeExists(node string) bool {
	for _, name := range c.opts.Nodes {
		if strings.EqualFold(name, node) {
			return true
		}
	}
	return len(c.opts.Nodes) == 0
}

// danglingError says that a disk is still on another node, and on which.
func danglingError(d *disk) error {
	node := nodesOf(d)[0]
	return &cloudError{v1beta2.AzError{
		Code:    v1beta2.ErrorDanglingAttach,
		Message: "disk " + d.id + " is already attached to node " + node,
		Parameters: map[string]string{
			v1beta2.ErrorParameterCurrentNode: node,
			v1beta2.ErrorParameterDevicePath:  "/dev/disk/azure/scsi1/lun" + strconv.Itoa(d.luns[node]),
		},
	}}
}
