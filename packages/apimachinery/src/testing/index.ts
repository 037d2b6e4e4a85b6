/** Internal parts for tests in packages above, which need real kinds. */
export { toFieldSet } from '../managed-fields/to-field-set.ts';
export { type OpenApiForm, customSchemas } from '../openapi/custom-schemas.ts';
export { pathItem } from '../openapi/operations.ts';
export { goFormat } from '../patch/go-format.ts';
export { applyMergePatch } from '../patch/merge-patch.ts';
export { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
