import { type Pod, PRIORITY_CLASSES, type PriorityClass } from '@gantry/objects';
import { type AdmissionCheck, type AdmissionReader, type AdmissionRequest, isCore } from './check/admission-check.ts';
import { refuse, refuseBeforeNaming } from './check/refuse.ts';

const PREEMPT = 'PreemptLowerPriority';
/** The system's priority classes, which are valid even before their objects exist. */
const SYSTEM: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

interface Established {
  readonly className: string;
  readonly value: number;
  readonly preemptionPolicy: string;
}

/** Sets the priority of a new pod from its priority class or the default class. Rejects a second default class. */
export const priority: AdmissionCheck = {
  name: 'Priority',
  mutate: async (request, reader) => {
    if (!isCore(request, 'pods')) return;
    const { spec } = request.object as Pod;
    if (spec === undefined || spec === null) return;
    if (request.operation === 'update') {
      const { spec: old } = (request.old ?? {}) as Partial<Pod>;
      if (spec.priority === undefined && old?.priority !== undefined) spec.priority = old.priority;
      if (spec.preemptionPolicy === undefined && old?.preemptionPolicy !== undefined) {
        spec.preemptionPolicy = old.preemptionPolicy;
      }
      return;
    }
    if (request.operation !== 'create') return;
    const { className, value, preemptionPolicy } = await establish(spec.priorityClassName ?? '', request, reader);
    if (className !== '') spec.priorityClassName = className;
    if (spec.priority !== undefined && spec.priority !== value) {
      const why = `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
      throw refuseBeforeNaming(request, why);
    }
    spec.priority = value;
    if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
      const why = `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`;
      throw refuseBeforeNaming(request, why);
    }
    spec.preemptionPolicy = preemptionPolicy;
  },
  validate: async (request, reader) => {
    const { definition, subresource, operation, object, name } = request;
    const isClass = definition.group === PRIORITY_CLASSES.group && definition.resource === PRIORITY_CLASSES.resource;
    if (!isClass || subresource !== '' || operation === 'delete') return;
    if ((object as PriorityClass).globalDefault !== true) return;
    const found = (await defaultClass(reader))?.metadata.name;
    if (found === undefined || (operation === 'update' && found === name)) return;
    throw refuse(request, `PriorityClass ${found} is already marked as default. Only one default can exist`);
  },
};

async function establish(name: string, request: AdmissionRequest, reader: AdmissionReader): Promise<Established> {
  const found = name === '' ? await defaultClass(reader) : await reader.find<PriorityClass>(PRIORITY_CLASSES, '', name);
  if (found !== undefined) {
    const { metadata, value = 0, preemptionPolicy = PREEMPT } = found;
    return { className: metadata.name ?? '', value, preemptionPolicy };
  }
  if (name === '') return { className: '', value: 0, preemptionPolicy: PREEMPT };
  const value = Object.hasOwn(SYSTEM, name) ? SYSTEM[name] : undefined;
  if (value === undefined) throw refuseBeforeNaming(request, `no PriorityClass with name ${name} was found`);
  return { className: name, value, preemptionPolicy: PREEMPT };
}

/** The default class. If there are several, which older versions allowed, the lowest one is used. */
async function defaultClass(reader: AdmissionReader): Promise<PriorityClass | undefined> {
  const classes = (await reader.list<PriorityClass>(PRIORITY_CLASSES, '')).filter(
    ({ globalDefault }) => globalDefault === true,
  );
  return [...classes].sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
}
