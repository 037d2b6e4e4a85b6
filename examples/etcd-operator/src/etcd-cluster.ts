import { defineKind, type ObjectOf, withRules } from '@gantry/operator';
import { z } from 'zod';

const DNS_LABEL = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
const FILE = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
const unchangeable = [{ rule: 'self == oldSelf', message: 'cannot be changed' }];

/** A cluster of etcd. Its members are pods, which keep their data as long as they exist. */
export const ETCD_CLUSTERS = defineKind({
  group: 'etcd.example.com',
  version: 'v1',
  kind: 'EtcdCluster',
  spec: z.object({
    size: z.int().min(1).max(9).default(3),
    /** Has `etcd`, `etcdctl` and `etcdutl`. */
    image: z.string().min(1).max(500).default('quay.io/coreos/etcd:v3.5.30'),
    /** Seconds for which a member may not be ready before it is replaced. */
    replaceAfter: z.int().min(10).max(86_400).default(300),
    /** A Secret with `ca.crt`, `tls.crt` and `tls.key`, as cert-manager writes it, for servers, peers and the operator. */
    tls: withRules(z.object({ secretName: DNS_LABEL }), unchangeable).optional(),
    backup: z
      .object({
        everyMinutes: z.int().min(1).max(10_080),
        /** Files that are kept: each backup overwrites the oldest one. */
        keep: z.int().min(1).max(100).default(7),
        /** A PersistentVolumeClaim of the namespace. */
        claimName: DNS_LABEL,
      })
      .optional(),
    /** Begins with the content of a backup. */
    restore: withRules(z.object({ claimName: DNS_LABEL, file: FILE }), unchangeable).optional(),
  }),
  status: z.object({
    /** Set when the first member has begun to serve. From then on, no other cluster is ever begun under this name. */
    clusterId: z.string().optional(),
    readyMembers: z.int().optional(),
    members: z.array(z.string()).optional(),
    backups: z.array(z.object({ file: z.string(), time: z.string() })).optional(),
    conditions: z.array(z.any()).optional(),
  }),
  rules: [
    // The names of members are names of hosts.
    { rule: 'self.metadata.name.size() <= 50', message: 'metadata.name: has at most 50 characters' },
    { rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')", message: 'metadata.name: is a DNS label' },
    { rule: 'has(self.spec.tls) == has(oldSelf.spec.tls)', message: 'spec.tls: cannot be added or removed' },
    {
      rule: 'has(self.spec.restore) == has(oldSelf.spec.restore)',
      message: 'spec.restore: cannot be added or removed',
    },
  ],
  columns: [
    { name: 'Size', path: '.spec.size', type: 'integer' },
    { name: 'Ready', path: '.status.readyMembers', type: 'integer' },
    { name: 'Available', path: '.status.conditions[?(@.type=="Available")].status' },
    { name: 'Progressing', path: '.status.conditions[?(@.type=="Progressing")].reason' },
    { name: 'Image', path: '.spec.image', priority: 1 },
  ],
});
export type EtcdCluster = ObjectOf<typeof ETCD_CLUSTERS>;

/** The name of the container, the same in all pods. */
export const CONTAINER = 'etcd';
export const CLUSTER_LABEL = 'etcd.example.com/cluster';
/** On a pod whose image is being changed: the container before, so that it is known when the new one runs. */
export const CHANGED_FROM = 'etcd.example.com/image-changed-from';
export const PORTS = { client: 2379, peer: 2380, metrics: 2381 } as const;

/** Names of members end with numbers; a member that is replaced gets the lowest free one. */
export function memberName({ metadata }: EtcdCluster, index: number): string {
  return `${metadata.name}-${index}`;
}

export function urlOf({ metadata, spec }: EtcdCluster, member: string, port: 'client' | 'peer'): string {
  const scheme = spec.tls === undefined ? 'http' : 'https';
  return `${scheme}://${member}.${metadata.name}.${metadata.namespace}.svc:${PORTS[port]}`;
}
