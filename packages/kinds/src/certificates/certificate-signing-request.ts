import { append, formatTime, type Instant } from '@gantry/base';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  type CertificateSigningRequest,
  type CertificateSigningRequestCondition,
  type CertificateSigningRequestStatus,
  duplicate,
  equalJson,
  type FieldError,
  forbidden,
  invalid,
  pathSegment,
  repeatedAt,
  required,
} from '@gantry/objects';
import {
  describedAs,
  PART_VERBS,
  type StrategyContext,
  ageColumn,
  column,
  defineResource,
  formatDuration,
  nameColumn,
  unsupported,
} from '@gantry/apimachinery';
import { validateCertificate } from './issued-certificate.ts';
import { validateSignerName } from '../fields/signer-name.ts';

const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];
const LASTING_CONDITIONS = ['Approved', 'Denied', 'Failed'];
const MIN_EXPIRATION_SECONDS = 600;
const PEM_REQUEST = /^-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----/m;

/** The requester is the authenticated user, never the user named in the request. */
function prepareForCreate(object: CertificateSigningRequest, { user }: StrategyContext): void {
  const { expirationSeconds, request, signerName, usages } = object.spec ?? {};
  const extra = Object.entries(user.extra).map(([key, values]): [string, string[]] => [key, [...values]]);
  object.spec = {
    request,
    signerName,
    expirationSeconds,
    usages,
    username: user.name || undefined,
    uid: user.uid || undefined,
    ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
  object.status = {};
}

function prepareForUpdate(object: CertificateSigningRequest, old: CertificateSigningRequest): void {
  object.spec = old.spec;
  object.status = old.status ?? {};
}

/** Signers set the certificate and may add the condition Failed; approval and denial stay unchanged. */
function prepareStatus(
  object: CertificateSigningRequest,
  old: CertificateSigningRequest,
  { now }: StrategyContext,
): void {
  const conditions = [...(object.status?.conditions ?? [])];
  for (const type of ['Approved', 'Denied']) {
    const before = (old.status?.conditions ?? []).filter((one) => one.type === type);
    const places = conditions.flatMap((one, i) => (one.type === type ? [i] : []));
    // Added or removed conditions are rejected by the rules.
    if (places.length !== before.length) continue;
    before.forEach((condition, i) => conditions.splice(places[i] ?? 0, 1, condition));
  }
  object.spec = old.spec;
  object.status = withConditions(object.status, conditions, old, now);
}

function prepareApproval(
  object: CertificateSigningRequest,
  old: CertificateSigningRequest,
  { now }: StrategyContext,
): void {
  const conditions = object.status?.conditions ?? [];
  object.spec = old.spec;
  object.status = withConditions(old.status, conditions, old, now);
}

function withConditions(
  status: CertificateSigningRequestStatus | undefined,
  conditions: readonly CertificateSigningRequestCondition[],
  old: CertificateSigningRequest,
  now: Instant,
): CertificateSigningRequestStatus {
  const { conditions: _, ...rest } = status ?? {};
  if (conditions.length === 0) return rest;
  const stamped = conditions.map((condition) => {
    const before = old.status?.conditions?.find(({ type }) => type === condition.type);
    const same = before !== undefined && before.status === condition.status;
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? formatTime(now),
      lastTransitionTime:
        condition.lastTransitionTime ?? (same ? before.lastTransitionTime : undefined) ?? formatTime(now),
    };
  });
  return { ...rest, conditions: stamped };
}

function validate(object: CertificateSigningRequest): FieldError[] {
  const errors: FieldError[] = [];
  const { request, usages = [], signerName = '', expirationSeconds } = object.spec ?? {};
  const fault = requestFault(request ?? '');
  if (fault !== '') errors.push(invalid('spec.request', request ?? null, fault));
  if (usages.length === 0) errors.push(required('spec.usages'));
  usages.forEach((usage, i) => {
    if (!USAGES.includes(usage)) errors.push(unsupported(`spec.usages[${i}]`, usage, USAGES));
  });
  const isRepeated = repeatedAt(usages);
  usages.forEach((usage, i) => {
    if (isRepeated(i)) errors.push(duplicate(`spec.usages[${i}]`, usage));
  });
  append(
    errors,
    signerName === 'kubernetes.io/legacy-unknown'
      ? [invalid('spec.signerName', signerName, 'the legacy signerName is not allowed via this API version')]
      : validateSignerName(signerName, 'spec.signerName'),
  );
  if (expirationSeconds !== undefined && expirationSeconds < MIN_EXPIRATION_SECONDS) {
    const detail = 'may not specify a duration less than 600 seconds (10 minutes)';
    errors.push(invalid('spec.expirationSeconds', expirationSeconds, detail));
  }
  return [...errors, ...validateConditions(object.status?.conditions ?? [])];
}

/** The error if the base64 text is not PEM with DER inside; '' if it is. Signers check the content. */
function requestFault(request: string): string {
  const body = PEM_REQUEST.exec(Buffer.from(request, 'base64').toString())?.[1];
  if (body === undefined) return 'PEM block type must be CERTIFICATE REQUEST';
  return Buffer.from(body, 'base64')[0] === 0x30 ? '' : "asn1: structure error: tags don't match";
}

function validateConditions(conditions: readonly CertificateSigningRequestCondition[]): FieldError[] {
  const errors: FieldError[] = [];
  const before = new Set<string>();
  conditions.forEach((condition, i) => {
    const at = `status.conditions[${i}]`;
    const { type = '', status = '' } = condition;
    if (type === '') errors.push(required(`${at}.type`));
    const lasting = LASTING_CONDITIONS.includes(type);
    const allowed = lasting ? ['True'] : ['True', 'False', 'Unknown'];
    if (status === '') errors.push(required(`${at}.status`));
    else if (!allowed.includes(status)) errors.push(unsupported(`${at}.status`, status, allowed));
    const opposite = { Approved: 'Denied', Denied: 'Approved' }[type];
    if (opposite !== undefined && before.has(opposite)) {
      errors.push(invalid('status.conditions', type, 'Approved and Denied conditions are mutually exclusive'));
    }
    if (before.has(type)) errors.push(duplicate(`${at}.type`, type));
    before.add(type);
  });
  return errors;
}

function validateLasting(object: CertificateSigningRequest, old: CertificateSigningRequest): FieldError[] {
  const count = (of: CertificateSigningRequest, wanted: string) =>
    (of.status?.conditions ?? []).filter(({ type }) => type === wanted).length;
  return LASTING_CONDITIONS.filter((type) => count(object, type) < count(old, type)).map((type) =>
    forbidden('status.conditions', `updates may not remove a condition of type "${type}"`),
  );
}

function validateStatusUpdate(object: CertificateSigningRequest, old: CertificateSigningRequest): FieldError[] {
  const errors = [
    ...validateConditions(object.status?.conditions ?? []),
    ...validateCertificate(object, old),
    ...validateLasting(object, old),
  ];
  for (const type of ['Approved', 'Denied']) {
    const count = (of: CertificateSigningRequest) =>
      (of.status?.conditions ?? []).filter((one) => one.type === type).length;
    if (count(object) > count(old)) {
      errors.push(forbidden('status.conditions', `updates may not add a condition of type "${type}"`));
    }
  }
  const before = old.status?.certificate ?? '';
  if (before !== '' && !equalJson(before, object.status?.certificate ?? '')) {
    errors.push(forbidden('status.certificate', 'updates may not modify existing certificate content'));
  }
  return errors;
}

function conditionText(object: CertificateSigningRequest): string {
  const types = (object.status?.conditions ?? []).map(({ type }) => type);
  const words: string[] = [];
  if (types.includes('Approved')) words.push('Approved');
  else if (types.includes('Denied')) words.push('Denied');
  else words.push('Pending');
  if (types.includes('Failed')) words.push('Failed');
  if ((object.status?.certificate ?? '') !== '') words.push('Issued');
  return words.join(',');
}

export const certificateSigningRequests = defineResource(CERTIFICATE_SIGNING_REQUESTS, {
  shortNames: ['csr'],
  schema: 'certificates.v1.CertificateSigningRequest',
  strategy: {
    validateName: pathSegment,
    prepareForCreate,
    prepareForUpdate,
    validate,
    metadataOnUpdate: 'whole first',
    resetFields: { drop: [['spec'], ['status']] },
  },
  subresources: [
    {
      name: 'approval',
      resetFields: { drop: [['spec'], ['status', 'certificate']] },
      verbs: PART_VERBS,
      prepareForUpdate: prepareApproval,
      validateUpdate: (object, old) => [
        ...validateConditions(object.status?.conditions ?? []),
        ...validateLasting(object, old),
      ],
    },
    {
      name: 'status',
      resetFields: { drop: [['spec'], ['status', 'conditions']] },
      verbs: PART_VERBS,
      prepareForUpdate: prepareStatus,
      validateUpdate: validateStatusUpdate,
    },
  ],
  columns: [
    nameColumn,
    ageColumn,
    column(
      'SignerName',
      'Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it\'s a kubelet client certificate, it is assigned\n    "kubernetes.io/kube-apiserver-client-kubelet".\n 2. If it\'s a kubelet serving certificate, it is assigned\n    "kubernetes.io/kubelet-serving".\n 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.',
      (object) => object.spec?.signerName ?? '',
    ),
    column('Requestor', 'Base64-encoded PKCS#10 CSR data', (object) => object.spec?.username ?? ''),
    column(
      'RequestedDuration',
      describedAs('certificates.v1.CertificateSigningRequestSpec', 'expirationSeconds'),
      ({ spec }) => (spec?.expirationSeconds === undefined ? '<none>' : formatDuration(spec.expirationSeconds * 1000)),
    ),
    column('Condition', 'Conditions applied to the request, such as approval or denial.', conditionText),
  ],
  selectableFields: { 'spec.signerName': (object) => object.spec?.signerName ?? '' },
});
