import { equalJson, type Pod, repeatedAt, RUNTIME_CLASSES, type RuntimeClass, type Toleration } from '@gantry/objects';
import { type AdmissionCheck, type AdmissionReader, type AdmissionRequest, isCore } from './check/admission-check.ts';
import { refuse, refuseBeforeNaming } from './check/refuse.ts';

const MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/** Sets overhead and scheduling constraints of the RuntimeClass on a pod. */
export const runtimeClass: AdmissionCheck = {
  name: 'RuntimeClass',
  mutate: async (request, reader) => {
    if (request.operation !== 'create' || !isCore(request, 'pods')) return;
    const { spec } = request.object as Pod;
    const found = await classOf(request, reader);
    if (spec === undefined || found === undefined) return;
    const { podFixed } = found.overhead ?? {};
    if (found.overhead !== undefined) {
      const own = spec.overhead ?? {};
      if (Object.keys(own).length > 0 && !equalJson(own, podFixed ?? {})) throw refuseBeforeNaming(request, MISMATCH);
      if (podFixed === undefined) delete spec.overhead;
      else spec.overhead = { ...podFixed };
    }
    const { scheduling } = found;
    if (scheduling === undefined) return;
    for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
      const own = spec.nodeSelector?.[key];
      if (own !== undefined && own !== value) {
        const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`;
        throw refuseBeforeNaming(request, why);
      }
      spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
    }
    const tolerations = mergeTolerations(spec.tolerations ?? [], scheduling.tolerations ?? []);
    if (tolerations.length > 0) spec.tolerations = tolerations;
  },
  validate: async (request, reader) => {
    if (request.operation !== 'create' || !isCore(request, 'pods')) return;
    const { spec } = request.object as Pod;
    const overhead = (await classOf(request, reader))?.overhead;
    if (overhead !== undefined && !equalJson(overhead.podFixed ?? {}, spec?.overhead ?? {})) {
      throw refuse(request, MISMATCH);
    }
    if (overhead === undefined && spec?.overhead !== undefined) {
      throw refuse(request, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
    }
  },
};

async function classOf(request: AdmissionRequest, reader: AdmissionReader): Promise<RuntimeClass | undefined> {
  const name = (request.object as Pod).spec?.runtimeClassName;
  if (name === undefined) return undefined;
  const found = await reader.find<RuntimeClass>(RUNTIME_CLASSES, '', name);
  if (found === undefined) throw refuseBeforeNaming(request, `pod rejected: RuntimeClass "${name}" not found`);
  return found;
}

/** With more tolerations, redundant ones are not removed, since every pair would be compared. */
const MAX_COMPARED = 200;

function tolerationText({ key, operator, value, effect, tolerationSeconds }: Toleration): string {
  return JSON.stringify([key ?? null, operator ?? null, value ?? null, effect ?? null, tolerationSeconds ?? null]);
}

/** Merges two lists and removes tolerations that another one covers. */
function mergeTolerations(own: readonly Toleration[], added: readonly Toleration[]): Toleration[] {
  const isRepeated = repeatedAt([...own, ...added].map(tolerationText));
  const all = [...own, ...added].filter((_, i) => !isRepeated(i));
  if (all.length > MAX_COMPARED) return all;
  return all.filter((one) => !all.some((other) => other !== one && covers(other, one)));
}

/** Whether the first toleration tolerates everything that the second one tolerates. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  if (equalJson(wide, narrow)) return true;
  if ((wide.key ?? '') !== '' && wide.key !== narrow.key) return false;
  if ((wide.effect ?? '') !== '' && wide.effect !== narrow.effect) return false;
  if ((wide.effect ?? '') === 'NoExecute' && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || wide.tolerationSeconds < narrow.tolerationSeconds) return false;
  }
  if (wide.operator === 'Exists') return true;
  return narrow.operator !== 'Exists' && (wide.value ?? '') === (narrow.value ?? '') && wide.key === narrow.key;
}
