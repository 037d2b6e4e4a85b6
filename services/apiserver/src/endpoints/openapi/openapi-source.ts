import {
  type Describe,
  type ResourceDefinition,
  encodeOpenApiV2,
  openApiDocument,
  openApiPaths,
  openApiV2Json,
} from '@gantry/apimachinery';
import type { JsonObject } from '@gantry/objects';
import { versionInfo } from '../version.ts';
import type { OpenApiSource } from './openapi-documents.ts';

/** The documents of these resources, with what is known to say about them, and those of other servers beside them. */
export function createOpenApiSource(
  definitions: readonly ResourceDefinition[],
  remote: ReadonlyMap<string, JsonObject>,
  describe: Describe,
): OpenApiSource {
  // As Kubernetes: the version that is emulated, which has no patch.
  const { emulationMajor = '', emulationMinor = '' } = versionInfo();
  const version = `${emulationMajor}.${emulationMinor}`;
  const own = openApiPaths(definitions);
  const simple = () => own.map((path) => openApiDocument(definitions, path, { version, describe, form: 'v2' }));
  // Of two schemas of one name ours counts: JSON keeps the first, protobuf the last.
  return {
    paths: [...new Set([...own, ...remote.keys()])].sort(),
    document: (path) => remote.get(path) ?? openApiDocument(definitions, path, { version, describe }),
    v2Json: () => openApiV2Json([...simple(), ...remote.values()], version),
    v2: () => encodeOpenApiV2([...remote.values(), ...simple()], version),
  };
}
