import { createHash } from 'node:crypto';

/** One OpenAPI v3 document per group version, as JSON. */
export interface OpenApiSource {
  /** `api/v1`, `apis/apps/v1`, …: the paths below /openapi/v3. */
  readonly paths: readonly string[];
  document(path: string): object | undefined;
}

interface Built {
  readonly bytes: Buffer;
  readonly hash: string;
}

/** The index and its documents, each built and hashed when first asked for. */
export interface OpenApiDocuments {
  index(): object;
  get(path: string): Built | undefined;
}

export function createOpenApiDocuments(source: OpenApiSource): OpenApiDocuments {
  const built = new Map<string, Built>();
  const get = (path: string): Built | undefined => {
    const known = built.get(path);
    if (known !== undefined) return known;
    const document = source.paths.includes(path) ? source.document(path) : undefined;
    if (document === undefined) return undefined;
    const bytes = Buffer.from(JSON.stringify(document));
    const made = { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
    built.set(path, made);
    return made;
  };
  return {
    get,
    index: () => ({
      paths: Object.fromEntries(
        source.paths.map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${get(path)?.hash ?? ''}` }]),
      ),
    }),
  };
}
