import { append } from '@gantry/base';
import {
  CSI_DRIVERS,
  type CSIDriver,
  type CSIDriverSpec,
  duplicate,
  equalJson,
  type FieldError,
  invalid,
  oneOf,
  repeatedAt,
  type StorageTokenRequest,
} from '@gantry/objects';
import {
  describedAs,
  ageColumn,
  column,
  defineResource,
  immutable,
  nameColumn,
  unsupported,
  fieldColumn,
} from '@gantry/apimachinery';

const GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType'];
const LIFECYCLE_MODES = ['Persistent', 'Ephemeral'];
const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;
const MIN_UPDATE_SECONDS = 10;
const TOKENS_ADVICE =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';

function applyDefaults(object: CSIDriver): void {
  const spec = (object.spec ??= {});
  spec.attachRequired ??= true;
  spec.podInfoOnMount ??= false;
  spec.storageCapacity ??= false;
  spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
  if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
  spec.requiresRepublish ??= false;
  spec.seLinuxMount ??= false;
}

/** Drops a field whose feature is off in this version. */
function dropUnserved({ spec }: CSIDriver): void {
  if (spec !== undefined) delete spec.preventPodSchedulingIfMissing;
}

/** The generation starts with the first change. */
function prepareForUpdate(object: CSIDriver, old: CSIDriver): void {
  dropUnserved(object);
  if (!equalJson(object.spec, old.spec)) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

function validate({ spec = {} }: CSIDriver): FieldError[] {
  const { fsGroupPolicy, tokenRequests = [], volumeLifecycleModes = [] } = spec;
  const errors: FieldError[] = [];
  append(errors, oneOf('spec.fsGroupPolicy', fsGroupPolicy, GROUP_POLICIES));
  append(errors, validateTokenRequests(tokenRequests));
  for (const mode of volumeLifecycleModes) {
    if (!LIFECYCLE_MODES.includes(mode)) errors.push(unsupported('spec.volumeLifecycleModes', mode, LIFECYCLE_MODES));
  }
  return [...errors, ...validateSettings(spec)];
}

function validateSettings(spec: CSIDriverSpec): FieldError[] {
  const { nodeAllocatableUpdatePeriodSeconds: seconds, serviceAccountTokenInSecrets: inSecrets } = spec;
  const errors: FieldError[] = [];
  if (seconds !== undefined && seconds < MIN_UPDATE_SECONDS) {
    const detail = `must be greater than or equal to ${MIN_UPDATE_SECONDS} seconds`;
    errors.push(invalid('spec.nodeAllocatableUpdatePeriodSeconds', seconds, detail));
  }
  if (inSecrets !== undefined && (spec.tokenRequests ?? []).length === 0) {
    const detail = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified';
    errors.push(invalid('spec.serviceAccountTokenInSecrets', inSecrets, detail));
  }
  return errors;
}

function validateTokenRequests(requests: readonly StorageTokenRequest[]): FieldError[] {
  const isRepeated = repeatedAt(requests.map(({ audience = '' }) => audience));
  return requests.flatMap(({ audience = '', expirationSeconds: seconds }, i) => {
    const path = `spec.tokenRequests[${i}]`;
    if (isRepeated(i)) {
      return [duplicate(`${path}.audience`, audience)];
    }
    const at = `${path}.expirationSeconds`;
    if (seconds === undefined) return [];
    if (seconds < MIN_TOKEN_SECONDS) return [invalid(at, seconds, 'may not specify a duration less than 10 minutes')];
    return seconds > MAX_TOKEN_SECONDS
      ? [invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds')]
      : [];
  });
}

function validateUpdate(object: CSIDriver, old: CSIDriver): FieldError[] {
  return [
    // The different field name is Kubernetes'.
    ...immutable('spec.attachedRequired', object.spec.attachRequired, old.spec.attachRequired),
    ...immutable('spec.volumeLifecycleModes', object.spec.volumeLifecycleModes, old.spec.volumeLifecycleModes),
  ];
}

function warnings({ spec }: CSIDriver, old?: CSIDriver): string[] {
  const { tokenRequests = [], serviceAccountTokenInSecrets: inSecrets } = spec;
  if (tokenRequests.length === 0 || inSecrets !== undefined) return [];
  return old !== undefined && equalJson(tokenRequests, old.spec.tokenRequests ?? []) ? [] : [TOKENS_ADVICE];
}

export const csiDrivers = defineResource(CSI_DRIVERS, {
  schema: 'storage.v1.CSIDriver',
  strategy: {
    deletionResponse: 'object',
    applyDefaults,
    prepareForCreate: dropUnserved,
    prepareForUpdate,
    validate,
    validateUpdate,
    warnings,
    metadataOnUpdate: 'change',
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    column(
      'AttachRequired',
      describedAs('storage.v1.CSIDriverSpec', 'attachRequired'),
      ({ spec }) => spec.attachRequired ?? true,
      {
        type: 'boolean',
      },
    ),
    fieldColumn('PodInfoOnMount', 'storage.v1.CSIDriverSpec', 'spec.podInfoOnMount', { none: false, type: 'boolean' }),
    fieldColumn('StorageCapacity', 'storage.v1.CSIDriverSpec', 'spec.storageCapacity', {
      none: false,
      type: 'boolean',
    }),
    column('TokenRequests', describedAs('storage.v1.CSIDriverSpec', 'tokenRequests'), ({ spec: { tokenRequests } }) =>
      tokenRequests === undefined ? '<unset>' : tokenRequests.map(({ audience }) => audience).join(','),
    ),
    fieldColumn('RequiresRepublish', 'storage.v1.CSIDriverSpec', 'spec.requiresRepublish', {
      none: false,
      type: 'boolean',
    }),
    column(
      'Modes',
      describedAs('storage.v1.CSIDriverSpec', 'volumeLifecycleModes'),
      ({ spec }) => spec.volumeLifecycleModes?.join(',') || '<none>',
    ),
    ageColumn,
  ],
});
