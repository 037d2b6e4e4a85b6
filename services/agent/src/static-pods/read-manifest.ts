import { createHash } from 'node:crypto';
import { errorMessage, formatTime, type Instant } from '@gantry/base';
import { apiReferenceOf, formatFieldError, type KubeObject, MIRROR_ANNOTATION, type Pod, PODS } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { HASH_ANNOTATION, SEEN_ANNOTATION, SOURCE_ANNOTATION } from '../spec/static-pod.ts';

/** The source of a manifest. */
export interface ManifestPlace {
  readonly node: string;
  readonly path: string;
  /** When the file was read. */
  readonly now: Instant;
}

/** A pod from a file, and warnings about ignored parts. */
export interface ManifestPod {
  readonly pod: Pod;
  readonly warnings: readonly string[];
}

/** The number of hexadecimal digits of a uid. */
const UID_DIGITS = 32;
const ANY_TAINT_THAT_EVICTS = { operator: 'Exists', effect: 'NoExecute' } as const;

/**
 * The static pod of a file, with the defaults and checks of the API server, like in the kubelet (pkg/kubelet/config). The node's name is
 * appended to the pod's name, the pod tolerates every NoExecute taint, and its uid is a hash of the file, its path and the node. A uid in
 * the file is ignored. AgentError 'InvalidManifest' with the problem.
 */
export async function readManifest(text: Uint8Array, { node, path, now }: ManifestPlace): Promise<ManifestPod> {
  // Imported on demand, so that only agents with static pods load the rules of all kinds.
  const [{ decodeObject, normaliseShape, validateNew }, { findResource }] = await Promise.all([
    import('@gantry/apimachinery'),
    import('@gantry/kinds'),
  ]);
  const definition = findResource(PODS);
  if (definition === undefined) throw new AgentError('InvalidManifest', 'this agent knows no pods');
  // JSON is a subset of YAML.
  const mediaType = 'application/yaml';
  const decoded = decoding(() => decodeObject({ bytes: text, mediaType, definition, mode: 'Warn' }));
  const given = decoded.object as Pod;
  if ((given.metadata.name ?? '') === '')
    throw new AgentError('InvalidManifest', 'invalid pod: name is needed for the pod');
  const uid = createHash('sha256')
    .update(text)
    .update(`\0host:${node}\0file:${path}`)
    .digest('hex')
    .slice(0, UID_DIGITS);
  const pod = named(given, uid, { node, now });
  const normalise = (object: KubeObject): void => {
    definition.strategy.applyDefaults?.(object);
    normaliseShape(object, definition.schema);
  };
  normalise(pod);
  const user = { name: node, groups: [], uid: '', extra: {} };
  definition.strategy.prepareForCreate?.(pod, { now, user, warn: (text) => void decoded.warnings.push(text) });
  normalise(pod);
  const [error] = validateNew(definition, pod);
  if (error !== undefined)
    throw new AgentError('InvalidManifest', `invalid pod: ${error.field}: ${formatFieldError(error)}`);
  const reference = apiReferenceOf(pod);
  if (reference !== undefined) throw new AgentError('InvalidManifest', `static pods may not reference ${reference}`);
  return { pod, warnings: decoded.warnings };
}

function decoding<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw new AgentError('InvalidManifest', errorMessage(error), { cause: error });
  }
}

function named({ metadata, spec, ...rest }: Pod, uid: string, { node, now }: Omit<ManifestPlace, 'path'>): Pod {
  const { tolerations = [] } = spec ?? {};
  const isTolerant = tolerations.some(
    ({ key = '', operator, effect }) => key === '' && operator === 'Exists' && effect === 'NoExecute',
  );
  const { labels } = metadata;
  const { [MIRROR_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {};
  return {
    ...rest,
    metadata: {
      name: `${metadata.name ?? ''}-${node.toLowerCase()}`,
      namespace: (metadata.namespace ?? '') === '' ? 'default' : (metadata.namespace ?? ''),
      uid,
      labels,
      annotations: {
        ...annotations,
        [HASH_ANNOTATION]: uid,
        [SEEN_ANNOTATION]: formatTime(now),
        [SOURCE_ANNOTATION]: 'file',
      },
    },
    spec: {
      ...(spec ?? { containers: [] }),
      nodeName: node,
      tolerations: isTolerant ? tolerations : [...tolerations, { ...ANY_TAINT_THAT_EVICTS }],
    },
  };
}
