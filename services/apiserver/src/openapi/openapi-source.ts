import {
  type Describe,
  encodeOpenApiV2,
  openApiDocument,
  openApiPaths,
  openApiV2Json,
  type ResourceDefinition,
} from '@gantry/api';
import { versionInfo } from '../version.ts';
import type { OpenApiSource } from './openapi-documents.ts';

/** The documents of these resources, with what is known to say about them. */
export function createOpenApiSource(definitions: readonly ResourceDefinition[], describe: Describe): OpenApiSource {
  const version = versionInfo().gitVersion ?? '';
  const paths = openApiPaths(definitions);
  const simple = () => paths.map((path) => openApiDocument(definitions, path, { version, describe, form: 'v2' }));
  return {
    paths,
    document: (path) => openApiDocument(definitions, path, { version, describe }),
    v2Json: () => openApiV2Json(simple(), version),
    v2: () => encodeOpenApiV2(simple(), version),
  };
}
