/**
 * Kinds that clients define at run time. Pure, no I/O.
 *
 * `customDefinitions` turns a CustomResourceDefinition into resource definitions, so later code treats all kinds alike.
 * `kindSchema` does the same for a built-in kind that has a JSON schema.
 * Parts: `definition` (validation of definitions), `rules` (CEL rules of schemas), `formats`; the files beside them read, prune,
 * default and validate objects by a structural schema; `admission` has the expressions of admission policies and webhooks.
 *
 * Used by the API server, by `kinds` (CustomResourceDefinition, admission policies) and by the fake of the client.
 */
export {
  AdmissionExpressions,
  type Compiled,
  JSON_PATCH,
  OBJECT,
} from './admission/admission-environment.ts';
export { MutationRefused, mergeMutation, patchMutation } from './admission/apply-mutation.ts';
export {
  type AskedRight,
  type Decision,
  authorizerValue,
  requestResourceValue,
} from './admission/authorizer-library.ts';
export { declaredKind } from './admission/declared-kind.ts';
export { readConverted } from './converted-object.ts';
export { type ConvertRemotely, type CustomHooks, customDefinitions } from './custom-definitions.ts';
export { validateNames } from './definition/spec.ts';
export { validateDefinitionSpec } from './definition/spec.ts';
export { isSupportedFormat } from './formats.ts';
export { kindSchema } from './kind-schema.ts';
export { declaredTypeOf } from './rules/declared-schema.ts';
