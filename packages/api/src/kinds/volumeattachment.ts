import { type FieldError, forbidden, invalid, required, tooLong } from '../field-error.ts';
import type { VolumeAttachment, VolumeAttachmentSource, VolumeError } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { immutable, invalidAll } from './rules/errors.ts';
import { dns1123Subdomain } from './rules/names.ts';
import { keepMetadata } from './rules/status-metadata.ts';
import { defaultVolumeSource } from './rules/storage-objects.ts';
import { validateVolumeSpec } from './rules/persistent-volume-spec.ts';
import { validateDriverName } from './rules/volume-sources.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';

const MAX_METADATA_BYTES = 256 * 1024;
const MAX_MESSAGE_BYTES = 1024;

function applyDefaults({ spec }: VolumeAttachment): void {
  const inline = spec?.source?.inlineVolumeSpec;
  if (inline !== undefined) defaultVolumeSource(inline);
}

function validate({ spec, status = { attached: false } }: VolumeAttachment): FieldError[] {
  const { attacher, nodeName = '', source = {} } = spec ?? { attacher: '', nodeName: '', source: {} };
  const persistent = source.persistentVolumeName;
  return [
    ...validateDriverName(attacher, 'spec.attacher'),
    ...validateSource(source, 'spec.source'),
    ...invalidAll('spec.nodeName', nodeName, dns1123Subdomain(nodeName)),
    ...validateAttachmentMetadata(status.attachmentMetadata ?? {}),
    ...validateError(status.attachError, 'status.attachError'),
    ...validateError(status.detachError, 'status.detachError'),
    ...(persistent === undefined
      ? []
      : invalidAll('spec.source.persistentVolumeName', persistent, dns1123Subdomain(persistent))),
  ];
}

function validateSource(
  { inlineVolumeSpec, persistentVolumeName }: VolumeAttachmentSource,
  path: string,
): FieldError[] {
  const oneOf = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  if (inlineVolumeSpec === undefined) {
    if (persistentVolumeName === undefined) return [required(path, oneOf)];
    return persistentVolumeName === ''
      ? [required(`${path}.persistentVolumeName`, 'must specify non empty persistentVolumeName')]
      : [];
  }
  if (persistentVolumeName !== undefined) return [forbidden(path, oneOf)];
  return validateVolumeSpec(inlineVolumeSpec, '', `${path}.inlineVolumeSpec`, 'inline');
}

function validateAttachmentMetadata(metadata: Readonly<Record<string, string>>): FieldError[] {
  const size = Object.entries(metadata).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0);
  return size > MAX_METADATA_BYTES ? [tooLong('status.attachmentMetadata', MAX_METADATA_BYTES)] : [];
}

function validateError(error: VolumeError | undefined, path: string): FieldError[] {
  if (error === undefined) return [];
  const errors: FieldError[] = [];
  // Kubernetes names the other limit.
  if (Buffer.byteLength(error.message ?? '') > MAX_MESSAGE_BYTES) {
    errors.push(tooLong(`${path}.message`, MAX_METADATA_BYTES));
  }
  const { errorCode } = error;
  if (errorCode !== undefined && errorCode < 0) {
    errors.push(invalid(`${path}.errorCode`, errorCode, 'must be between 0 and 2147483647, inclusive'));
  }
  return errors;
}

export const volumeAttachments: ResourceDefinition<VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttachment',
  resource: 'volumeattachments',
  singular: 'volumeattachment',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'storage.v1.VolumeAttachment',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = { attached: false };
    },
    prepareForUpdate: (object, old) => {
      object.status = { ...(old.status ?? { attached: false }) };
    },
    validate,
    validateUpdate: (object, old) => immutable('spec', object.spec, old.spec),
    metadataOnUpdate: 'object',
    allowUnconditionalUpdate: false,
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        object.spec = old.spec;
        keepMetadata(object, old);
      },
      validateUpdate: validate,
    },
  ],
  columns: [
    nameColumn,
    {
      ...column<VolumeAttachment>('Attacher', 'The driver that attaches.', ({ spec }) => spec.attacher),
      format: 'name',
    },
    column('PV', 'The volume.', ({ spec }) => spec.source.persistentVolumeName ?? ''),
    column('Node', 'Where it is to be attached.', ({ spec }) => spec.nodeName),
    column('Attached', 'Whether it is.', ({ status }) => status?.attached ?? false, { type: 'boolean' }),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
