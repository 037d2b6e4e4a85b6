/** A metric from which no count of replicas follows; the message is Kubernetes'. Thrown and caught within this folder. */
export class MetricError extends Error {
  override readonly name = 'MetricError';
  /** What the reconcile's error says in front of the message; conditions and Events leave it out. */
  readonly context: string;

  constructor(message: string, context = '') {
    super(message);
    this.context = context;
  }
}
