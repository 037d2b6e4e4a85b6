/** What a service account token may be bound to: it is valid only while this object exists. */
export interface BoundObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** The node of a bound pod, when it has one. */
  readonly node?: { readonly name: string; readonly uid: string };
}

/** Signs service account tokens. The driver has checked that the account and the bound object exist. */
export interface TokenIssuer {
  issue(request: {
    readonly serviceAccount: { readonly namespace: string; readonly name: string; readonly uid: string };
    /** Empty means the issuer's own audience. */
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
    readonly boundObject: BoundObject | undefined;
  }): Promise<{ readonly token: string; readonly expirationTimestamp: string }>;
}
