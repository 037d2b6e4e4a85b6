import { append } from '@gantry/base';
import { formatQuantity, type Pod, type QuantityFormat, quantityValue } from '@gantry/objects';
import { containerNamed } from '../spec/pod-containers.ts';
import type { Candidate, ContainerUse } from './rank.ts';
import { type Observations, SIGNALS, type StarvedResource } from './signals.ts';
import { amountOf, type Threshold } from './thresholds.ts';

/**
 * The message of an eviction in the kubelet's words (`evictionMessage`): the resource that is short, and the containers that use more
 * than they request.
 */
export function evictionMessage(
  resource: StarvedResource,
  { pod, containers }: Candidate,
  due: readonly Threshold[],
  observations: Observations,
): string {
  const parts = [`The node was low on resource: ${resource}. `, thresholdPart(resource, due, observations)];
  if (resource === 'memory' || resource === 'ephemeral-storage') {
    parts.push(podPart(resource, pod, containers));
    append(
      parts,
      containers.map((use) => containerPart(resource, pod, use)),
    );
  }
  return parts.join('');
}

function thresholdPart(resource: StarvedResource, due: readonly Threshold[], observations: Observations): string {
  const threshold = due.find(({ signal }) => SIGNALS[signal].resource === resource);
  const observed = threshold === undefined ? undefined : observations.get(threshold.signal);
  if (threshold === undefined || observed === undefined) return '';
  const limit = format(amountOf(threshold.value, observed), 'binarySI');
  const available = format(observed.available, SIGNALS[threshold.signal].format);
  return `Threshold quantity: ${limit}, available: ${available}. `;
}

/** For a pod with a pod-level memory request. */
function podPart(resource: string, { metadata, spec }: Pod, containers: readonly ContainerUse[]): string {
  const request = resource === 'memory' ? spec?.resources?.requests?.['memory'] : undefined;
  if (request === undefined || containers.length === 0) return '';
  const used = containers.reduce((sum, { memoryBytes = 0 }) => sum + memoryBytes, 0);
  return consumption(`Pod ${metadata.name ?? ''}`, used, request, resource);
}

/** Ephemeral containers have no requests and are never mentioned. */
function containerPart(resource: 'memory' | 'ephemeral-storage', pod: Pod, use: ContainerUse): string {
  const isEphemeral = pod.spec?.ephemeralContainers?.some(({ name }) => name === use.name) === true;
  const used = resource === 'memory' ? use.memoryBytes : use.storageBytes;
  const request = containerNamed(pod, use.name)?.resources?.requests?.[resource] ?? '0';
  if (isEphemeral || used === undefined || used <= quantityValue(request)) return '';
  return consumption(`Container ${use.name}`, used, request, resource);
}

function consumption(what: string, used: number, request: string, resource: string): string {
  return `${what} was using ${format(used, 'binarySI')}, request is ${request}, has larger consumption of ${resource}. `;
}

function format(value: number, as: QuantityFormat): string {
  return formatQuantity({ nano: BigInt(Math.round(value)) * 1_000_000_000n, format: as });
}
