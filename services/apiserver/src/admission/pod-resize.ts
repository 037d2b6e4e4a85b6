import { compareAmounts } from '@gantry/kinds';
import {
  type Node,
  NODES,
  OS_LABEL,
  type Pod,
  podAmountsWithOverhead,
  quantityMilli,
  StatusError,
} from '@gantry/objects';
import { type AdmissionCheck, type AdmissionRequest, isCore } from './check/admission-check.ts';
import { refuse } from './check/refuse.ts';

/** Rejects the resize of a pod if its node does not support it or does not have enough allocatable resources. */
export const podResize: AdmissionCheck = {
  name: 'PodResizeValidator',
  validate: async (request, reader) => {
    if (request.operation !== 'update' || !isCore(request, 'pods', 'resize')) return;
    const { metadata, spec }: Pod = request.object;
    const nodeName = spec?.nodeName ?? '';
    if (spec === undefined || nodeName === '' || metadata.generation === request.old?.metadata.generation) return;
    const node = await reader.find<Node>(NODES, '', nodeName);
    if (node === undefined) throw refuse(request, `node ${JSON.stringify(nodeName)} not found`);
    const system = node.metadata.labels?.[OS_LABEL] ?? 'linux';
    if (system !== 'linux') {
      const why = `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(system)}`;
      throw because(request, why, 'UnsupportedPlatform');
    }
    const asked = podAmountsWithOverhead(spec, 'requests');
    const allocatable = node.status?.allocatable ?? {};
    const short = (['cpu', 'memory'] as const).flatMap((name) => {
      const [wanted, held] = [asked[name] ?? '0', allocatable[name] ?? '0'];
      if (compareAmounts(wanted, held) <= 0) return [];
      return [`${name}, requested: ${inUnits(name, wanted)}, allocatable: ${inUnits(name, held)}`];
    });
    if (short.length === 0) return;
    const why = `node didn't have enough allocatable resources: ${short.join('; ')}`;
    throw because(request, why, 'NodeCapacity');
  },
};

/** Converts to millicores or bytes, rounded up. */
function inUnits(name: 'cpu' | 'memory', amount: string): number {
  const milli = quantityMilli(amount);
  return name === 'cpu' ? milli : Math.ceil(milli / 1000);
}

function because(request: AdmissionRequest, why: string, reason: string): StatusError {
  const plain = refuse(request, why);
  return new StatusError('Forbidden', plain.message, { details: { ...plain.details, causes: [{ reason }] } });
}
