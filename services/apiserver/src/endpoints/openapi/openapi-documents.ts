import { createHash } from 'node:crypto';

/** One OpenAPI v3 document per group version, as JSON. */
export interface OpenApiSource {
  /** `api/v1`, `apis/apps/v1`, …: the paths below /openapi/v3. */
  readonly paths: readonly string[];
  document(path: string): object | undefined;
  /** Everything in one OpenAPI v2 document, as protobuf. */
  v2(): Uint8Array;
  /** The same as JSON. */
  v2Json(): object;
}

interface Built {
  readonly bytes: Buffer;
  readonly hash: string;
}

/** The index and its documents, each built and hashed when first asked for. */
export interface OpenApiDocuments {
  index(): object;
  get(path: string): Built | undefined;
  v2(): Built;
  v2Json(): Built;
}

/** No group version has this path. */
const V2 = 'v2';
const V2_JSON = 'v2 json';

export function createOpenApiDocuments(source: OpenApiSource): OpenApiDocuments {
  const built = new Map<string, Built>();
  const keep = (path: string, bytes: Buffer): Built => {
    const made = { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
    built.set(path, made);
    return made;
  };
  const get = (path: string): Built | undefined => {
    const known = built.get(path);
    if (known !== undefined) return known;
    const document = source.paths.includes(path) ? source.document(path) : undefined;
    if (document === undefined) return undefined;
    return keep(path, Buffer.from(JSON.stringify(document)));
  };
  return {
    get,
    v2Json: () => built.get(V2_JSON) ?? keep(V2_JSON, Buffer.from(JSON.stringify(source.v2Json()))),
    v2: () => built.get(V2) ?? keep(V2, Buffer.from(source.v2())),
    index: () => ({
      paths: Object.fromEntries(
        source.paths.map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${get(path)?.hash ?? ''}` }]),
      ),
    }),
  };
}
