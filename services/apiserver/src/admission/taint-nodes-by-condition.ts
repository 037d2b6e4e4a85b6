import { type Node, NOT_READY_TAINT } from '@gantry/objects';
import { type AdmissionCheck, isCore } from './check/admission-check.ts';

const NOT_READY = { key: NOT_READY_TAINT, effect: 'NoSchedule' };

/** Adds the not-ready taint to a new Node, so that it gets no pods until it is ready. */
export const taintNodesByCondition: AdmissionCheck = {
  name: 'TaintNodesByCondition',
  mutate: (request) => {
    if (request.operation !== 'create' || !isCore(request, 'nodes')) return;
    const node = request.object as Node;
    const spec = (node.spec ??= {});
    const present = (spec.taints ?? []).some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect);
    if (!present) spec.taints = [...(spec.taints ?? []), { ...NOT_READY }];
  },
};
