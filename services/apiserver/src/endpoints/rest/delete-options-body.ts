import { parsePlainBody } from '@gantry/apimachinery';
import { StatusError } from '@gantry/objects';
import type { MediaType } from '../../http/negotiate.ts';
import type { RawDeleteOptions } from './delete-options.ts';

/** Decodes protobuf bodies of kinds that are not resources. */
export type DecodeProtobuf = (bytes: Uint8Array) => unknown;

/** Kinds that Kubernetes' decoder of options knows. As a body of a delete, they cause another error message than unknown kinds. */
const SHARED_KINDS: ReadonlySet<string> = new Set([
  'CreateOptions',
  'GetOptions',
  'ListOptions',
  'PatchOptions',
  'UpdateOptions',
  'WatchEvent',
  'List',
  'Status',
  'Table',
  'PartialObjectMetadata',
]);

/** Decodes DeleteOptions from a request body. */
export function decodeDeleteOptions(
  bytes: Uint8Array,
  mediaType: MediaType,
  decodeProtobuf: DecodeProtobuf,
): RawDeleteOptions {
  // A body `null` means no options.
  const value = decode(bytes, mediaType, decodeProtobuf) ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) throw unrecognized('not an object', bytes);
  const body = value as Record<string, unknown>;
  if (body.kind !== undefined && body.kind !== '' && body.kind !== 'DeleteOptions') {
    throw StatusError.badRequest(
      SHARED_KINDS.has(String(body.kind))
        ? 'decoded object cannot be converted to DeleteOptions'
        : `no kind ${JSON.stringify(body.kind)} is registered for version ${JSON.stringify(body.apiVersion ?? 'v1')} in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"`,
    );
  }
  checkType(body, 'gracePeriodSeconds', isInteger, 'int64');
  checkType(body, 'orphanDependents', (v) => typeof v === 'boolean', 'bool');
  checkType(body, 'propagationPolicy', isString, 'string');
  checkType(body, 'dryRun', (v) => Array.isArray(v) && v.every(isString), '[]string');
  checkType(body, 'preconditions', isPreconditions, 'v1.Preconditions');
  return body;
}

function decode(bytes: Uint8Array, mediaType: MediaType, decodeProtobuf: DecodeProtobuf): unknown {
  if (mediaType === 'application/vnd.kubernetes.protobuf') return decodeProtobuf(bytes);
  try {
    return parsePlainBody(bytes, mediaType === 'application/yaml' ? 'yaml' : 'json');
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw unrecognized(error instanceof Error ? error.message : String(error), bytes);
  }
}

function unrecognized(why: string, bytes: Uint8Array): StatusError {
  const start = Buffer.from(bytes.subarray(0, 30)).toString('utf8');
  return StatusError.badRequest(
    `the object provided is unrecognized (must be of type DeleteOptions): couldn't get version/kind; json parse error: ${why} (${start}${bytes.length > 30 ? ' ...' : ''})`,
  );
}

function checkType(
  body: Record<string, unknown>,
  field: string,
  fits: (value: unknown) => boolean,
  type: string,
): void {
  const value = body[field];
  if (value === undefined || value === null || fits(value)) return;
  throw StatusError.badRequest(
    `DeleteOptions in version "v1" cannot be handled as a DeleteOptions: json: cannot unmarshal ${goKind(value)} into Go struct field DeleteOptions.${field} of type ${type}`,
  );
}

function goKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function isInteger(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value);
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isPreconditions(value: unknown): boolean {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const { uid, resourceVersion } = value as Record<string, unknown>;
  return (uid == null || isString(uid)) && (resourceVersion == null || isString(resourceVersion));
}
