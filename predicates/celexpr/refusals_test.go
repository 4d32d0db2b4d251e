package celexpr

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/donewhen/donewhen/predicates/schemas"
)

// rightExpressions are right for their kind, by what its API says; no schema may refuse one.
var rightExpressions = map[string][]string{
	"apps/v1/Deployment": {
		"object.status.replicas == object.spec.replicas",
		"object.spec.replicas == 0 || object.status.availableReplicas >= object.spec.replicas",
		"object.status.updatedReplicas >= object.spec.replicas && object.status.observedGeneration >= object.metadata.generation",
		"has(object.status.unavailableReplicas) && object.status.unavailableReplicas > 0",
		"object.?status.?availableReplicas.orValue(0) >= object.?spec.?replicas.orValue(1)",
		"object.status.conditions.exists(c, c.type == 'Progressing' && c.status == 'True' && c.reason == 'NewReplicaSetAvailable')",
		"object.status.?conditions.orValue([]).filter(c, c.type == 'Available').all(c, c.status == 'True')",
		"object.spec.template.spec.containers.all(c, c.image.endsWith('@sha256:0'))",
		"object.spec.template.spec.containers[0].image == 'nginx'",
		"object.spec.template.spec.containers.exists(c, c.name == 'main' && has(c.resources.limits) && 'cpu' in c.resources.limits)",
		"quantity(object.spec.template.spec.containers[0].resources.limits['memory']).isGreaterThan(quantity('1Gi'))",
		"quantity(string(object.spec.template.spec.containers[0].resources.requests.cpu)).compareTo(quantity('1')) >= 0",
		"object.metadata.annotations['deployment.kubernetes.io/revision'] == '2'",
		"int(object.metadata.annotations['deployment.kubernetes.io/revision']) >= 2",
		"object.metadata.?annotations[?'deployment.kubernetes.io/revision'].orValue('') != ''",
		"has(object.metadata.labels) && 'app' in object.metadata.labels",
		"object.metadata.labels.app == 'x'",
		"object.metadata.labels.all(k, k.startsWith('a'))",
		"object.metadata.labels.exists(k, object.metadata.labels[k] == 'x')",
		"object.metadata.labels.exists(k, v, k == 'app' && v == 'x')",
		"object.spec.selector.matchLabels == object.spec.template.metadata.labels",
		"object.spec.strategy.type == 'RollingUpdate' && object.spec.strategy.rollingUpdate.maxUnavailable == 0",
		"object.spec.strategy.rollingUpdate.maxSurge == '25%'",
		"object.spec.strategy.rollingUpdate.maxSurge in ['25%', '50%']",
		"type(object.spec.strategy.rollingUpdate.maxSurge) == string || int(object.spec.strategy.rollingUpdate.maxSurge) > 1",
		"timestamp(object.metadata.creationTimestamp) < timestamp('2027-01-01T00:00:00Z')",
		"object.metadata.creationTimestamp < '2027'",
		"object.metadata.finalizers.size() == 0",
		"!has(object.metadata.deletionTimestamp)",
		"object.metadata.ownerReferences.exists_one(o, o.controller)",
		"object.metadata.ownerReferences[0].uid == 'x'",
		"object.kind == 'Deployment' && object.apiVersion == 'apps/v1'",
		"object.status == {}",
		"object.spec.paused == false",
		"object.spec.replicas / 2 < object.status.readyReplicas",
		"double(object.status.readyReplicas) / double(object.spec.replicas) >= 0.5",
		"object.status.readyReplicas * 100 / object.spec.replicas >= 90",
		"object.spec.replicas == 1.0",
		"object.spec.replicas >= 1.5",
		"object.spec.replicas in [1, 2, 3]",
		"object.spec.template.spec.?volumes.orValue([]).exists(v, has(v.configMap) && v.configMap.name == 'x')",
		"object.spec.template.spec.containers.map(c, c.name).exists(n, n == 'main')",
		"object.spec.template.spec.containers.map(c, c.ports.map(p, p.containerPort)).exists(l, 80 in l)",
		"sets.contains(object.spec.template.spec.containers.map(c, c.name), ['a', 'b'])",
		"object.spec.template.spec.containers.all(c, c.?securityContext.?runAsNonRoot.orValue(false))",
		"object.spec.template.spec.containers.all(c, c.?livenessProbe.?httpGet.?port.orValue(80) == 80)",
		"(has(object.status.conditions) ? object.status.conditions : []).size() > 0",
		"object.status.conditions.filter(c, c.type == 'Available')[0].lastTransitionTime > '2026'",
		"condition(object, 'Available').status == 'True' && isTrue(object, 'Progressing')",
		"condition(object.status, 'x').present == false",
		"string(object.spec.replicas) == '3'",
		"dyn(object.spec.replicas) == '3' || true",
		"object.spec.minReadySeconds > 10 && object.spec.progressDeadlineSeconds == 600",
		"object['metadata']['name'] == 'a'",
		"object.metadata.name.matches('^a-[0-9]+$')",
		"object.status.conditions.map(c, c.type).join(',').contains('Available')",
		"object.spec.template.spec.nodeSelector['kubernetes.io/os'] == 'linux'",
		"object.metadata.managedFields.exists(m, m.manager == 'kubectl' && m.?subresource.orValue('') == 'status')",
	},
	"v1/Pod": {
		"object.status.phase == 'Running'",
		"object.status.phase in ['Succeeded', 'Failed']",
		"object.status.containerStatuses.all(s, s.ready)",
		"object.status.containerStatuses.exists(s, has(s.state.terminated) && s.state.terminated.exitCode != 0)",
		"object.status.containerStatuses.exists(s, s.state.?waiting.?reason.orValue('') == 'CrashLoopBackOff')",
		"object.status.?containerStatuses.orValue([]).exists(s, s.restartCount > 3)",
		"object.status.initContainerStatuses[0].state.terminated.reason == 'Completed'",
		"object.status.podIPs.map(i, i.ip).exists(i, isIP(i) && ip(i).family() == 6)",
		"cidr('10.0.0.0/8').containsIP(object.status.podIP)",
		"object.status.hostIP != '' && object.spec.nodeName == 'n1'",
		"object.status.qosClass == 'Guaranteed'",
		"object.spec.restartPolicy == 'Never' && object.spec.terminationGracePeriodSeconds == 30",
		"object.spec.tolerations.exists(t, t.key == 'a' && t.?tolerationSeconds.orValue(0) > 10)",
		"object.spec.containers.exists(c, c.env.exists(e, e.name == 'A' && e.value == 'b'))",
		"object.spec.containers.all(c, c.volumeMounts.all(m, object.spec.volumes.exists(v, v.name == m.name)))",
		"object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.size() > 0",
		"duration('30s') < timestamp(object.status.startTime) - timestamp(object.metadata.creationTimestamp)",
		"object.spec.volumes.exists(v, has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName == 'x')",
		"object.spec.containers[0].ports[0].containerPort + 1 == 81",
		"object.spec.priority < -1 || object.spec.priority > 2147483647",
		"object.spec.overhead == null || object.spec.overhead.size() == 0",
		"object.spec.containers[0].resources.limits['cpu'] == '1' || object.spec.containers[0].resources.limits['cpu'] == 1",
		"object.status.conditions.exists(c, c.type == 'PodScheduled' && c.status == 'False' && c.message.contains('nodes are available'))",
		"object.status.containerStatuses.map(s, s.restartCount).sum() < 5",
		"lists.range(3).exists(i, object.spec.containers[i].name == 'x')",
		"object.spec.containers.exists(i, c, i > 0 && c.name == 'x')",
		"object.status.containerStatuses.transformMap(i, s, s.name).size() > 0",
	},
	"batch/v1/Job": {
		"object.status.succeeded >= object.spec.completions",
		"object.status.?failed.orValue(0) > object.spec.backoffLimit",
		"has(object.status.completionTime)",
		"isTrue(object, 'Complete')",
		"object.status.conditions.exists(c, c.type == 'Failed' && c.reason in ['BackoffLimitExceeded', 'DeadlineExceeded'])",
		"object.?status.?active.orValue(0) == 0",
		"timestamp(object.status.completionTime).getFullYear() >= 2026",
		"object.status.completedIndexes.split(',').size() == 3",
		"object.status.uncountedTerminatedPods == {}",
	},
	"v1/Node": {
		"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
		"!object.?spec.?unschedulable.orValue(false)",
		"quantity(object.status.allocatable['memory']).isGreaterThan(quantity('1Gi'))",
		"quantity(object.status.allocatable.memory).asInteger() > 0",
		"object.status.addresses.exists(a, a.type == 'InternalIP' && a.address != '')",
		"semver(object.status.nodeInfo.kubeletVersion.substring(1)).isGreaterThan(semver('1.30.0'))",
		"object.spec.taints.all(t, t.effect != 'NoExecute')",
		"int(object.status.capacity['pods']) >= 110",
		"object.status.volumesAttached.exists(v, v.name == 'x' && v.devicePath == '')",
		"'x' in object.status.volumesInUse",
		"object.metadata.labels['topology.kubernetes.io/zone'].startsWith('we')",
	},
	"v1/PersistentVolumeClaim": {
		"object.status.phase == 'Bound'",
		"quantity(object.status.capacity.storage).compareTo(quantity(object.spec.resources.requests.storage)) >= 0",
		"object.status.capacity == object.spec.resources.requests",
		"object.spec.accessModes == ['ReadWriteOnce']",
		"object.status.?allocatedResourceStatuses[?'storage'].orValue('') != 'NodeResizeInProgress'",
		"object.spec.volumeName != '' && object.spec.storageClassName != null",
		"object.spec.?dataSource.?kind.orValue('') == 'VolumeSnapshot'",
		"object.status.conditions.filter(c, c.type == 'Resizing').size() == 0",
	},
}

// TestNoSchemaRefusesWhatIsRight: of the kinds built into Kubernetes.
func TestNoSchemaRefusesWhatIsRight(t *testing.T) {
	known, n := schemas.FromScheme(scheme.Scheme), 0
	for name, expressions := range rightExpressions {
		at := strings.LastIndexByte(name, '/')
		api, kind := name[:at], name[at+1:]
		s, err := known.Schema(schema.FromAPIVersionAndKind(api, kind))
		if err != nil || s == nil {
			t.Fatalf("%s has no schema: %v", name, err)
		}
		env, err := NewEnvironment(nil, WithSchemas(s))
		if err != nil {
			t.Fatal(err)
		}
		for _, expression := range expressions {
			n++
			p, issues := env.Compile(expression, OutputBool)
			if issues != nil {
				t.Errorf("%s: %s: %s", name, expression, render(issues))
				continue
			}
			if w := p.Warnings(); len(w) > 0 {
				t.Logf("%s: %s: warns %s", name, expression, render(w))
			}
		}
	}
	t.Logf("%d expressions", n)
}
