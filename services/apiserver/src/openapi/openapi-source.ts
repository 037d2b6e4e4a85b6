import { type Describe, openApiDocument, openApiPaths, type ResourceDefinition } from '@gantry/api';
import { versionInfo } from '../version.ts';
import type { OpenApiSource } from './openapi-documents.ts';

/** The documents of these resources, with what is known to say about them. */
export function createOpenApiSource(definitions: readonly ResourceDefinition[], describe: Describe): OpenApiSource {
  const version = versionInfo().gitVersion ?? '';
  return {
    paths: openApiPaths(definitions),
    document: (path) => openApiDocument(definitions, path, { version, describe }),
  };
}
