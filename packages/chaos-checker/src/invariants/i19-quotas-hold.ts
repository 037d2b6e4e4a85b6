import { isTerminal } from '../history/api-objects.ts';
import { add, nanosOf, podRequests } from '../history/quantities.ts';
import type { Change, ObjectVersion, World } from '../history/world.ts';
import { boundsOf, type Invariant } from './invariant.ts';

const NANO = 1_000_000_000n;
/** Names of quotas for numbers of objects that are older than `count/...`. */
const COUNTED: Readonly<Record<string, string>> = {
  configmaps: 'configmaps',
  secrets: 'secrets',
  services: 'services',
  persistentvolumeclaims: 'persistentvolumeclaims',
  resourcequotas: 'resourcequotas',
  replicationcontrollers: 'replicationcontrollers',
};

/**
 * I19 (Kubernetes: ResourceQuota). `status.used` never grows beyond `hard`, nor does the number of objects, of those that are counted. At the end, in calm, it is not below the true sum, and not
 * above it for longer than the interval of recounts. The sum is computed here for numbers of objects and for cpu, memory and ephemeral
 * storage requested by pods. Quotas with scopes and limits of other resources are left out. From etcd's history.
 */
export const quotasHold: Invariant = {
  id: 'I19',
  title: 'Quotas hold and count right',
  unit: 'uses of quotas',
  needs: ['etcd'],
  observe(world, findings) {
    const { stillMs, recountMs } = boundsOf(world);
    /** Numbers of objects by resource and namespace. */
    const counts = new Map<string, number>();
    const count = (resource: string, namespace: string, by: number) => {
      const id = `${resource} ${namespace}`;
      counts.set(id, (counts.get(id) ?? 0) + by);
      return counts.get(id) ?? 0;
    };
    const judgeCreation = ({ resource, namespace, key, atMs, source }: Change, number: number) => {
      for (const { object, source: quota } of inNamespace(world, 'resourcequotas', namespace)) {
        for (const [name, text] of Object.entries(object?.status?.hard ?? {})) {
          if (countedResource(name) !== resource) continue;
          findings.checked();
          if (BigInt(number) * NANO <= (nanosOf(text) ?? 0n)) continue;
          findings.violation(atMs, `${key} is number ${number} under a quota of ${text} ${name}`, quota, source);
        }
      }
    };
    return {
      begin() {
        for (const { resource, namespace } of world.objects.values()) count(resource, namespace, 1);
      },
      change(change) {
        const { resource, namespace, key, before, after, atMs, source } = change;
        if (before === undefined && after !== undefined) judgeCreation(change, count(resource, namespace, 1));
        if (before !== undefined && after === undefined) count(resource, namespace, -1);
        if (resource !== 'resourcequotas' || after === undefined) return;
        const old = before?.object?.status?.used ?? {};
        const { used = {}, hard = {} } = after.object?.status ?? {};
        for (const [name, text] of Object.entries(used)) {
          const [was = 0n, is = 0n, most] = [nanosOf(old[name]), nanosOf(text), nanosOf(hard[name])];
          if (is <= was || most === undefined) continue;
          findings.checked();
          if (is > most)
            findings.violation(atMs, `${key}: ${name} grows to ${text} of ${hard[name]}`, before?.source, source);
        }
      },
      finish() {
        for (const version of world.list('resourcequotas')) {
          const { spec, status } = version.object ?? {};
          if ((spec?.scopes?.length ?? 0) > 0 || spec?.scopeSelector !== undefined) {
            findings.undecided(`${version.key} has scopes`);
            continue;
          }
          const newest = newestIn(world, version.namespace);
          if (world.calmMs() < stillMs || world.nowMs - newest < stillMs) {
            findings.undecided(`${version.namespace} changed within ${stillMs} ms of the end, or a fault did`);
            continue;
          }
          for (const [name, text] of Object.entries(status?.used ?? {})) {
            const actual = actualUse(world, version.namespace, name);
            if (actual === undefined) {
              findings.undecided(`the use of ${name} is not computed`);
              continue;
            }
            findings.checked();
            const used = nanosOf(text) ?? 0n;
            if (used === actual) continue;
            if (used > actual && world.nowMs - newest < recountMs) {
              findings.undecided(`the use of ${name} is counted again later`);
              continue;
            }
            findings.violation(
              world.nowMs,
              `${version.key}: used ${name} is ${text}, and the objects need ${Number(actual) / 1e9}`,
              version.source,
            );
          }
        }
      },
    };
  },
};

function newestIn(world: World, namespace: string): number {
  let newest = 0;
  for (const version of world.objects.values()) {
    if (
      version.namespace === namespace &&
      version.resource !== 'events' &&
      version.resource !== 'coordination.k8s.io/leases'
    ) {
      newest = Math.max(newest, version.atMs);
    }
  }
  return newest;
}

function actualUse(world: World, namespace: string, name: string): bigint | undefined {
  const counted = countedResource(name);
  if (counted !== undefined) return BigInt(inNamespace(world, counted, namespace).length) * NANO;
  const request = name === 'pods' ? 'pods' : /^(?:requests\.)?(cpu|memory|ephemeral-storage)$/.exec(name)?.[1];
  if (request === undefined) return undefined;
  const sum = new Map<string, bigint>();
  for (const { object } of inNamespace(world, 'pods', namespace)) {
    const pod = object;
    if (pod !== undefined && !isTerminal(pod)) add(sum, podRequests(pod));
  }
  return sum.get(request) ?? 0n;
}

/** The resource whose objects are counted under a name of a quota; undefined for other uses. */
function countedResource(name: string): string | undefined {
  return name.startsWith('count/') ? resourceOf(name.slice('count/'.length)) : COUNTED[name];
}

/** `deployments.apps` is `apps/deployments` in etcd's keys. */
function resourceOf(qualified: string): string {
  const dot = qualified.indexOf('.');
  return dot < 0 ? qualified : `${qualified.slice(dot + 1)}/${qualified.slice(0, dot)}`;
}

function inNamespace(world: World, resource: string, namespace: string): readonly ObjectVersion[] {
  return [...world.list(resource)].filter((version) => version.namespace === namespace);
}
