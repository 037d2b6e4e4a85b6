import {
  type FieldError,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
  type VolumeAttachmentSource,
  type VolumeError,
  dns1123Subdomain,
  forbidden,
  invalid,
  required,
  tooLong,
} from '@gantry/objects';
import {
  METADATA_AND_SPEC,
  describedAs,
  PART_VERBS,
  ageColumn,
  column,
  defineResource,
  immutable,
  invalidAll,
  nameColumn,
  fieldColumn,
} from '@gantry/apimachinery';
import { keepMetadata } from '../fields/status.ts';
import { defaultVolumeSource } from '../core/volumes/storage-objects.ts';
import { validateVolumeSpec } from '../core/volumes/persistent-volume-spec.ts';
import { validateDriverName } from '../pod-spec/volume-sources.ts';

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
  // Kubernetes' message names the other limit.
  if (Buffer.byteLength(error.message ?? '') > MAX_MESSAGE_BYTES) {
    errors.push(tooLong(`${path}.message`, MAX_METADATA_BYTES));
  }
  const { errorCode } = error;
  if (errorCode !== undefined && errorCode < 0) {
    errors.push(invalid(`${path}.errorCode`, errorCode, 'must be between 0 and 2147483647, inclusive'));
  }
  return errors;
}

export const volumeAttachments = defineResource(VOLUME_ATTACHMENTS, {
  schema: 'storage.v1.VolumeAttachment',
  strategy: {
    deletionResponse: 'object',
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
      resetFields: METADATA_AND_SPEC,
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
      ...column<VolumeAttachment>(
        'Attacher',
        describedAs('storage.v1.VolumeAttachmentSpec', 'attacher'),
        ({ spec }) => spec.attacher,
      ),
      format: 'name',
    },
    fieldColumn('PV', 'storage.v1.VolumeAttachmentSource', 'spec.source.persistentVolumeName'),
    column('Node', describedAs('storage.v1.VolumeAttachmentSpec', 'nodeName'), ({ spec }) => spec.nodeName),
    fieldColumn('Attached', 'storage.v1.VolumeAttachmentStatus', 'status.attached', { none: false, type: 'boolean' }),
    ageColumn,
  ],
});
