import type { Mutant } from '../mutant.ts';

const AUDIT = 'services/apiserver/src/audit';
const ADMISSION = 'services/apiserver/src/admission';
const ENDPOINT = 'services/apiserver/src/endpoints/router/http-endpoint.ts';
const TRAIL = `${AUDIT}/audit-trail.ts`;
const TRAIL_TESTS = [`${AUDIT}/audit-trail.test.ts`];
const LOG_TESTS = ['services/apiserver/src/testing/audit-log.test.ts'];
const WEBHOOK_TESTS = [`${ADMISSION}/webhooks/webhooks.test.ts`];
const POD_SECURITY = `${ADMISSION}/pod-security.ts`;
const POD_SECURITY_TESTS = [`${ADMISSION}/pod-security.test.ts`];
const POLICIES = `${ADMISSION}/policies/validating-policies.ts`;

/** What the audit log says, and what it must not say. */
export const AUDIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'bodies of requests are logged at any level',
    file: TRAIL,
    text: "if (this.#reaches('Request')) this.#requestObject",
    replacement: 'this.#requestObject',
    tests: [...TRAIL_TESTS, ...LOG_TESTS],
    protects: 'Secrets, from the audit log',
  },
  {
    name: 'bodies of responses are logged at any level',
    file: TRAIL,
    text: "if (!this.#reaches('RequestResponse')) return;",
    replacement: '',
    tests: TRAIL_TESTS,
    protects: 'Secrets, from the audit log',
  },
  {
    name: 'annotations are logged at any level',
    file: TRAIL,
    text: 'if (this.#reaches(level) && !this.#annotations.has(key))',
    replacement: 'if (!this.#annotations.has(key))',
    tests: [...TRAIL_TESTS, ...WEBHOOK_TESTS],
    protects: 'what webhooks write into Secrets, from the audit log',
  },
  {
    name: 'a later annotation replaces an earlier one',
    file: TRAIL,
    text: 'if (this.#reaches(level) && !this.#annotations.has(key))',
    replacement: 'if (this.#reaches(level))',
    tests: TRAIL_TESTS,
    protects: 'what the server has found, from webhooks that say otherwise',
  },
  {
    name: 'bodies of any size are kept for the log',
    file: TRAIL,
    text: 'if (bytes.length > MAX_BODY) {',
    replacement: 'if (bytes.length < 0) {',
    tests: TRAIL_TESTS,
    protects: 'the memory and the event loop of an API server',
  },
  {
    name: 'lists that are sent in parts are not logged',
    file: 'services/apiserver/src/http/send-pieces.ts',
    text: 'if (!isOver(exchange)) kept.report(contentType);',
    replacement: '',
    tests: LOG_TESTS,
    protects: 'the audit log: who read which Secrets, where the policy asks for bodies',
  },
  {
    name: 'the end of a request is logged twice',
    file: TRAIL,
    text: 'if (this.#isCompleted) return;',
    replacement: '',
    tests: TRAIL_TESTS,
    protects: 'the truth of the audit log: what failed after its response would seem to have ended twice',
  },
  {
    name: 'requests without a known sender are not logged',
    file: ENDPOINT,
    text: 'audit ??= beginAudit(dependencies, exchange, { requester, user: requester, found, receivedAt, notices });',
    replacement: 'void found;',
    tests: LOG_TESTS,
    protects: 'attempts with wrong tokens, and to act as another, which the audit log is to show',
  },
  {
    name: 'patches of webhooks are annotations of any level',
    file: `${ADMISSION}/webhooks/mutating-webhooks.ts`,
    text: "request.annotate(`patch.webhook.admission.k8s.io/${at}`, value, 'Request');",
    replacement: 'request.annotate(`patch.webhook.admission.k8s.io/${at}`, value);',
    tests: WEBHOOK_TESTS,
    protects: 'what webhooks write into Secrets, from the audit log',
  },
  {
    name: 'patches of webhooks are not in the audit log',
    file: `${ADMISSION}/webhooks/mutating-webhooks.ts`,
    text: 'if (mutated) annotatePatch(request, at, hook, answer.patch);',
    replacement: '',
    tests: WEBHOOK_TESTS,
    protects: 'the audit log: which webhook changed what',
  },
  {
    name: 'the audit log does not say that a webhook changed an object',
    file: `${ADMISSION}/webhooks/mutating-webhooks.ts`,
    text: 'request.annotate(`mutation.webhook.admission.k8s.io/${at}`, value);',
    replacement: 'void value;',
    tests: WEBHOOK_TESTS,
    protects: 'the audit log: which webhook changed what',
  },
  {
    name: 'the audit log does not say that a webhook was passed over',
    file: `${ADMISSION}/webhooks/ask-webhook.ts`,
    text: 'request.annotate(`failed-open.${PHASES[type]}.webhook.admission.k8s.io/${at}`, webhook.name);',
    replacement: '',
    tests: WEBHOOK_TESTS,
    protects: 'the audit log: what was admitted without being looked at',
  },
  {
    name: 'annotations of webhooks are not in the audit log',
    file: `${ADMISSION}/webhooks/ask-webhook.ts`,
    text: 'request.annotate(`${webhook.name}/${key}`, value);',
    replacement: 'void key;\n      void value;',
    tests: WEBHOOK_TESTS,
    protects: 'the audit log: why a webhook decided as it did',
  },
  {
    name: 'annotations of policies are not in the audit log',
    file: POLICIES,
    text: 'for (const [key, value] of annotations) request.annotate(`${names.policy}/${key}`, value);',
    replacement: 'void annotations;',
    tests: LOG_TESTS,
    protects: 'the audit log: what policies were to note',
  },
  {
    name: 'a policy that only audits leaves nothing in the audit log',
    file: POLICIES,
    text: "if (binding.spec.validationActions.includes('Audit') && decisions.length > 0) {",
    replacement: 'if (decisions.length < 0) {',
    tests: LOG_TESTS,
    protects: 'policies that are tried before they are enforced: all their effect is this annotation',
  },
  {
    name: 'exempt pods are not in the audit log',
    file: POD_SECURITY,
    text: 'if (why !== undefined) annotate(EXEMPT, why);',
    replacement: 'void annotate;',
    tests: POD_SECURITY_TESTS,
    protects: 'the audit log: what nothing was demanded of',
  },
  {
    name: 'pods of an exempt class are not in the audit log',
    file: POD_SECURITY,
    text: `if (isExemptPod(spec)) {
    request.annotate(EXEMPT, 'runtimeClass');`,
    replacement: 'if (isExemptPod(spec)) {',
    tests: POD_SECURITY_TESTS,
    protects: 'the audit log: what nothing was demanded of',
  },
  {
    name: 'templates of an exempt class are not in the audit log',
    file: POD_SECURITY,
    text: `if (isExemptPod(template.spec)) {
    request.annotate(EXEMPT, 'runtimeClass');`,
    replacement: 'if (isExemptPod(template.spec)) {',
    tests: POD_SECURITY_TESTS,
    protects: 'the audit log: what nothing was demanded of',
  },
  {
    name: 'the audit log does not say what was enforced',
    file: POD_SECURITY,
    text: 'request.annotate(ENFORCED, formatLevel(policy.enforce));\n  auditOf(',
    replacement: 'auditOf(',
    tests: LOG_TESTS,
    protects: 'the audit log: by which level a pod was judged',
  },
  {
    name: 'the audit log does not say that nothing was demanded',
    file: POD_SECURITY,
    text: 'request.annotate(ENFORCED, formatLevel(policy.enforce));\n    return;',
    replacement: 'return;',
    tests: LOG_TESTS,
    protects: 'the audit log: by which level a pod was judged',
  },
  {
    name: 'pods below the audited level are not in the audit log',
    file: POD_SECURITY,
    text: 'if (text !== undefined) request.annotate(AUDITED, text);',
    replacement: 'void text;',
    tests: LOG_TESTS,
    protects: 'namespaces that are audited before a level is enforced',
  },
  {
    name: 'the audit log does not say that labels mean nothing',
    file: POD_SECURITY,
    text: '  if (errors.length > 0) {\n    const texts',
    replacement: '  if (errors.length < 0) {\n    const texts',
    tests: POD_SECURITY_TESTS,
    protects: 'the audit log: why a namespace is restricted that did not ask for it',
  },
  {
    name: 'any number of lines waits for the disk',
    file: `${AUDIT}/log-file.ts`,
    text: 'if (queued > MAX_QUEUED) {',
    replacement: 'if (queued < 0) {',
    tests: [`${AUDIT}/log-file.test.ts`],
    protects: 'the memory of an API server whose disk is full',
  },
  {
    name: 'every user of the host reads the audit log',
    file: `${AUDIT}/log-file.ts`,
    text: "open(this.#path, 'a', 0o600)",
    replacement: "open(this.#path, 'a')",
    tests: [`${AUDIT}/log-file.test.ts`],
    protects: 'names of users and objects, and bodies where the policy asks for them',
  },
];
