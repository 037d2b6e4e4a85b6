import { expect, test } from 'vitest';
import {
  isClaimedBeyondConformance,
  isConformance,
  type OfficialTest,
  parseTestList,
  reasonNotClaimed,
} from './test-list.ts';

const LISTED = `The following spec names can be used with 'ginkgo run --focus/skip':
    ../k8s.io/kubernetes/test/e2e/network/dns.go:114: [sig-network] DNS should provide DNS for services [Conformance]
    k8s.io/kubernetes/test/e2e/scheduling/predicates.go:332: [sig-scheduling] SchedulerPredicates [Serial] validates resource limits [Conformance]
    k8s.io/kubernetes/test/e2e/invariants/metrics.go:70: [invariants] Metrics should enable checking invariant metrics

`;

const named = (name: string): OfficialTest => ({
  name,
  area: /\[(sig-[a-z-]+)\]/.exec(name)?.[1] ?? '',
  schedule: 'parallel',
});

test('tests are read with their area and schedule, and what no area owns is left out', () => {
  expect(parseTestList(LISTED)).toEqual([
    {
      name: '[sig-network] DNS should provide DNS for services [Conformance]',
      area: 'sig-network',
      schedule: 'parallel',
    },
    {
      name: '[sig-scheduling] SchedulerPredicates [Serial] validates resource limits [Conformance]',
      area: 'sig-scheduling',
      schedule: 'serial',
    },
  ]);
});

test('a conformance test is known by its tag', () => {
  expect(isConformance(named('[sig-node] Pods should run [NodeConformance] [Conformance]'))).toBe(true);
  expect(isConformance(named('[sig-node] Pods should run [NodeConformance]'))).toBe(false);
});

test.each([
  ['[sig-auth] ServiceAccounts should mount tokens', true],
  ['[sig-network] Services should be slow [Slow]', true],
  ['[sig-auth] ServiceAccounts should mount tokens [Conformance]', false],
  ['[sig-cloud-provider-gcp] Nodes should be there', false],
  ['[sig-apps] Network Partition [Disruptive] should recover', false],
  ['[sig-api-machinery] Garbage collector is unsure [Flaky]', false],
  ['[sig-node] Pods in a new way [FeatureGate:New] [Alpha]', false],
  ['[sig-node] Pods in a newer way [FeatureGate:Newer] [Beta]', true],
  ['[sig-storage] In-tree Volumes [Driver: nfs] should mount', false],
  ['[sig-storage] In-tree Volumes [Driver: local] [LocalVolumeType: dir] should mount', true],
  ['[sig-storage] In-tree Volumes [Driver: emptydir] should mount', true],
  ['[sig-storage] In-tree Volumes [Driver: hostPath] should mount', true],
  ['[sig-storage] In-tree Volumes [Driver: windows-gcepd] should mount', false],
  ['[sig-storage] CSI Mock volume limit should be enforced', false],
  ['[sig-storage] CSI Volumes [Driver: csi-hostpath] should mount', false],
  ['[sig-storage] PersistentVolumes NFS should be written', false],
  ['[sig-node] [DRA] control plane supports reusing resources', false],
  ['[sig-storage] In-tree Volumes [Driver: local] [LocalVolumeType: gce-localssd-scsi-fs] should mount', false],
  ['[sig-node] Pod Level Resources [Serial] [Feature:PodLevelResources] should be kept', true],
  ['[sig-node] PLR Pod InPlace Resize [FeatureGate:InPlacePodLevelResourcesVerticalScaling] [Beta] resizing cpu', true],
  ['[sig-node] Security Context UserNamespaces [Feature:UserNamespacesSupport] should have users', false],
  ['[sig-node] Pods may be resized [Feature:InPlacePodVerticalScaling]', true],
  [
    '[sig-node] Pods may be resized [Feature:InPlacePodVerticalScaling] [FeatureGate:New] [Beta] [Feature:OffByDefault]',
    false,
  ],
  ['[sig-network] LoadBalancers [Feature:LoadBalancer] should balance', false],
  ['[sig-network] Netpol should enforce policy [Feature:NetworkPolicy]', true],
  ['[sig-network] Netpol [Feature:SCTPConnectivity] should enforce policy [Feature:NetworkPolicy]', false],
])('%s is claimed beyond conformance: %s', (name, claimed) => {
  expect(isClaimedBeyondConformance(named(name))).toBe(claimed);
});

test.each([
  ['[sig-apps] Network Partition [Disruptive] should recover', 'it breaks the cluster or needs SSH to nodes'],
  ['[sig-storage] In-tree Volumes [Driver: nfs] should mount', 'it needs a driver of another project'],
  ['[sig-network] LoadBalancers [Feature:LoadBalancer] should balance', 'it needs a special setup'],
  ['[sig-node] Pods in a new way [FeatureGate:New] [Alpha] [Feature:OffByDefault]', 'its feature is off by default'],
  ['[sig-auth] ServiceAccounts should mount tokens', undefined],
])('%s is not claimed because it is %s', (name, reason) => {
  expect(reasonNotClaimed(named(name))).toBe(reason);
});
