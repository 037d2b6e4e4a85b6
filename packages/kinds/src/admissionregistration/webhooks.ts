import {
  dns1123Subdomain,
  duplicate,
  equalJson,
  type FieldError,
  invalid,
  type MatchCondition,
  type MutatingWebhook,
  oneOf,
  repeatedAt,
  required,
  type ValidatingWebhook,
} from '@gantry/objects';
import { Allowance } from '@gantry/cel';
import { type ExpressionContext, validateMatchConditions } from './expressions.ts';
import {
  defaultMatching,
  defaultRules,
  FAILURE_POLICIES,
  MATCH_POLICIES,
  REINVOCATION_POLICIES,
  validateRule,
} from './match-resources.ts';
import { validateAdmissionClient, validateLabelSelector, validateReviewVersions } from '@gantry/apimachinery';

type Webhook = ValidatingWebhook & Partial<Pick<MutatingWebhook, 'reinvocationPolicy'>>;

const REVIEW_VERSIONS = ['v1', 'v1beta1'];
const HARMLESS = ['None', 'NoneOnDryRun'];
const SIDE_EFFECTS = [...HARMLESS, 'Some', 'Unknown'];

/** Defaults of both kinds of webhooks. */
export function defaultWebhook(webhook: Webhook): void {
  webhook.failurePolicy ??= 'Fail';
  defaultMatching(webhook);
  webhook.timeoutSeconds ??= 10;
  defaultRules(webhook.rules);
  const service = webhook.clientConfig?.service;
  if (service !== undefined) service.port ??= 443;
}

/** How strict the rules are: stored objects may keep what was allowed when they were created. */
interface Strictness {
  readonly sideEffects: readonly string[];
  readonly versions: 'known' | 'any';
  readonly names: 'distinct' | 'any';
  readonly conditions: 'checked' | 'kept';
}

const NEW: Strictness = { sideEffects: HARMLESS, versions: 'known', names: 'distinct', conditions: 'checked' };

/** Rules on new webhooks. */
export function validateNewWebhooks(webhooks: readonly Webhook[] | undefined): FieldError[] {
  return validateWebhooks(webhooks ?? [], NEW);
}

/** Checks changed webhooks. A rule that the stored webhooks break may stay broken. */
export function validateChangedWebhooks(
  webhooks: readonly Webhook[] | undefined,
  old: readonly Webhook[] | undefined,
): FieldError[] {
  const [changed, stored] = [webhooks ?? [], old ?? []];
  const conditions = (list: readonly Webhook[]): readonly MatchCondition[][] =>
    list.map(({ matchConditions }) => matchConditions ?? []);
  return validateWebhooks(changed, {
    sideEffects: stored.every(({ sideEffects = '' }) => HARMLESS.includes(sideEffects)) ? HARMLESS : SIDE_EFFECTS,
    versions: stored.every(hasKnownVersion) ? 'known' : 'any',
    names: new Set(stored.map(({ name }) => name)).size === stored.length ? 'distinct' : 'any',
    conditions: equalJson(conditions(changed), conditions(stored)) ? 'kept' : 'checked',
  });
}

function hasKnownVersion({ admissionReviewVersions }: Webhook): boolean {
  const versions = (admissionReviewVersions as readonly string[] | null) ?? [];
  return versions.length === 0 || versions.some((version) => REVIEW_VERSIONS.includes(version));
}

function validateWebhooks(webhooks: readonly Webhook[], strictness: Strictness): FieldError[] {
  const isRepeated = repeatedAt(webhooks.map(({ name = '' }) => name));
  const context: ExpressionContext = { params: 'without params', allowance: new Allowance() };
  return webhooks.flatMap((webhook, i) => {
    const path = `webhooks[${i}]`;
    const { name = '', admissionReviewVersions } = webhook;
    const errors = [
      ...validateWebhook(webhook, strictness, path),
      ...(strictness.conditions === 'kept'
        ? []
        : validateMatchConditions(webhook.matchConditions, context, `${path}.matchConditions`)),
      ...validateReviewVersions(
        admissionReviewVersions,
        REVIEW_VERSIONS,
        strictness.versions,
        `${path}.admissionReviewVersions`,
      ),
    ];
    if (strictness.names === 'distinct' && name !== '' && isRepeated(i)) errors.push(duplicate(`${path}.name`, name));
    return errors;
  });
}

function validateWebhook(webhook: Webhook, strictness: Strictness, path: string): FieldError[] {
  const { failurePolicy, matchPolicy, reinvocationPolicy, timeoutSeconds } = webhook;
  const errors = [
    ...validateWebhookName(webhook.name ?? '', `${path}.name`),
    ...(webhook.rules ?? []).flatMap((rule, i) => validateRule(rule, `${path}.rules[${i}]`)),
    ...oneOf(`${path}.failurePolicy`, failurePolicy, FAILURE_POLICIES),
    ...oneOf(`${path}.matchPolicy`, matchPolicy, MATCH_POLICIES),
    ...validateSideEffects(webhook.sideEffects, strictness.sideEffects, `${path}.sideEffects`),
  ];
  if (timeoutSeconds !== undefined && (timeoutSeconds > 30 || timeoutSeconds < 1)) {
    const detail = 'the timeout value must be between 1 and 30 seconds';
    errors.push(invalid(`${path}.timeoutSeconds`, timeoutSeconds, detail));
  }
  return [
    ...errors,
    ...validateLabelSelector(webhook.namespaceSelector, `${path}.namespaceSelector`),
    ...validateLabelSelector(webhook.objectSelector, `${path}.objectSelector`),
    ...oneOf(`${path}.reinvocationPolicy`, reinvocationPolicy, REINVOCATION_POLICIES),
    ...validateAdmissionClient(webhook.clientConfig, `${path}.clientConfig`),
  ];
}

function validateWebhookName(name: string, path: string): FieldError[] {
  if (name === '') return [required(path)];
  const messages = dns1123Subdomain(name);
  if (messages.length > 0) return [invalid(path, name, messages.join(','))];
  return name.split('.').length < 3
    ? [invalid(path, name, 'should be a domain with at least three segments separated by dots')]
    : [];
}

function validateSideEffects(value: string | null | undefined, allowed: readonly string[], path: string): FieldError[] {
  if (value === undefined || value === null)
    return [required(path, `must specify one of ${[...allowed].sort().join(', ')}`)];
  return oneOf(path, value, allowed);
}
