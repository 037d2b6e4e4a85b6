import { append } from '@gantry/base';
import { type FieldError, StatusError, invalid } from '@gantry/objects';
import { parseBoolean, parseInt64 } from '../../http/query.ts';
import type { DeleteOptions } from '../../registry/index.ts';
import { dryRunErrors } from './write-options.ts';

/** DeleteOptions from the body or the query, not validated. */
export interface RawDeleteOptions {
  readonly gracePeriodSeconds?: number | null;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | null;
  readonly propagationPolicy?: string | null;
  readonly orphanDependents?: boolean | null;
  readonly dryRun?: readonly string[] | null;
}

/** Parses DeleteOptions from the query, for requests without a body. */
export function deleteOptionsOfQuery(query: URLSearchParams): RawDeleteOptions {
  const grace = parseInt64(query, 'gracePeriodSeconds');
  const orphan = parseBoolean(query, 'orphanDependents');
  const policy = query.get('propagationPolicy');
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(orphan === undefined ? {} : { orphanDependents: orphan }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    dryRun: query.getAll('dryRun'),
  };
}

const POLICIES = ['Foreground', 'Background', 'Orphan'] as const;

/** Validates DeleteOptions, with Kubernetes' messages. */
export function checkDeleteOptions(raw: RawDeleteOptions): { options: DeleteOptions; dryRun: boolean } {
  const errors: FieldError[] = [];
  const policy = raw.propagationPolicy ?? undefined;
  const known = POLICIES.find((p) => p === policy);
  if (raw.orphanDependents != null && policy !== undefined) {
    const detail = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalid('propagationPolicy', policy, detail));
  }
  if (policy !== undefined && known === undefined) {
    const supported = [...POLICIES, 'nil'].map((p) => JSON.stringify(p)).join(', ');
    errors.push({
      type: 'FieldValueNotSupported',
      field: 'propagationPolicy',
      value: policy,
      detail: `supported values: ${supported}`,
    });
  }
  const dryRun = raw.dryRun ?? [];
  append(errors, dryRunErrors(dryRun));
  if (errors.length > 0) throw StatusError.invalid('meta.k8s.io', 'DeleteOptions', '', errors);
  return {
    options: {
      gracePeriodSeconds: raw.gracePeriodSeconds ?? undefined,
      preconditions: raw.preconditions ?? {},
      propagationPolicy: known,
      orphanDependents: raw.orphanDependents ?? undefined,
    },
    dryRun: dryRun.length > 0,
  };
}
