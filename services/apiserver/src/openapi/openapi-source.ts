import type { OpenApiSource } from './openapi-documents.ts';

/** The documents of packages/api. */
export function openApiSource(): OpenApiSource {
  return { paths: [], document: () => undefined };
}
