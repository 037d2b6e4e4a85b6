/** What `/gantry/v1/...` responds: see docs/introspection.md. */
export interface Unreachable {
  readonly address?: string;
  readonly component?: string;
  readonly reason?: string;
}

export interface Term {
  readonly epoch: number;
  readonly electedAt?: string;
  readonly actingAt?: string;
  readonly firstWriteAt?: string;
  readonly endedAt?: string;
}

export interface Candidate {
  readonly address: string;
  readonly component: string;
  readonly identity: string;
  readonly startedAt: string;
  /** `running`: there is no election, as of agents. */
  readonly state: 'leading' | 'standby' | 'running';
  readonly leaseTtlMs?: number;
  readonly term?: Term;
}

/** An office: who holds it, and who may. */
export interface Leader {
  readonly component: string;
  readonly holder: string | null;
  readonly epoch: number | null;
  readonly candidates: readonly Candidate[];
}

export interface LeadersReport {
  readonly at: string;
  readonly leaders: readonly Leader[];
  readonly unreachable?: readonly Unreachable[];
}

export interface Decision {
  readonly at: string;
  readonly key: {
    readonly namespace?: string;
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
  };
  readonly result: string;
  readonly error?: string;
  readonly seconds: number;
  readonly writes?: readonly {
    readonly verb: string;
    readonly group: string;
    readonly resource: string;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
  }[];
  readonly writeCount?: number;
  readonly events?: readonly { readonly reason: string; readonly message: string }[];
}

export interface Loop {
  readonly name: string;
  readonly queue: { readonly depth: number; readonly longestSeconds: number };
  readonly reconciles: {
    readonly total: number;
    readonly failed: number;
    readonly conflicts: number;
    readonly perSecond: number;
    readonly meanSeconds: number;
    readonly longestSeconds: number;
  };
  readonly decisions: readonly Decision[];
}

export interface LoopsReport {
  readonly at: string;
  readonly processes: readonly (Candidate & {
    readonly loops: readonly Loop[];
    /** That of processes that only read: `behind` counts revisions of etcd. */
    readonly cache?: { readonly revision: number; readonly behind: number };
    /** The scheduler's. */
    readonly queue?: { readonly active: number; readonly backoff: number; readonly unschedulable: number };
  })[];
  readonly unreachable?: readonly Unreachable[];
}

export interface EtcdReport {
  readonly at: string;
  readonly leader: string | null;
  readonly quotaBytes: number;
  readonly members: readonly {
    readonly name: string;
    readonly state: string;
    readonly reason?: string;
    readonly latencyMs?: number;
    readonly isLeader?: boolean;
    readonly version?: string;
    readonly revision?: number;
    readonly raftTerm?: number;
    readonly raftIndex?: number;
    readonly raftAppliedIndex?: number;
    readonly sizeBytes?: number;
    readonly inUseBytes?: number;
    readonly alarms?: readonly string[];
  }[];
}

export interface ApiServersReport {
  readonly at: string;
  readonly apiservers: readonly {
    readonly address: string;
    readonly startedAt: string;
    readonly leading?: boolean;
    readonly requests: readonly {
      readonly verb: string;
      readonly resource: string;
      readonly codes?: Readonly<Record<string, number>>;
      readonly meanSeconds?: number;
    }[];
    readonly watches: readonly { readonly resource: string; readonly watches: number; readonly rest: number }[];
    readonly cache?: { readonly revision: number; readonly behind?: number };
    readonly flowControl: readonly {
      readonly name: string;
      readonly limitSeats: number;
      readonly schemas: readonly {
        readonly name: string;
        readonly executingRequests: number;
        readonly queuedRequests: number;
        readonly dispatched: number;
        readonly rejected?: Readonly<Record<string, number>>;
      }[];
    }[];
  }[];
  readonly unreachable?: readonly Unreachable[];
}

export interface HistoryReport {
  readonly at: string;
  readonly keptMinutes: number;
  readonly oldest: { readonly resourceVersion: string; readonly at: string | null };
  readonly newest: { readonly resourceVersion: string };
  readonly marks: readonly { readonly resourceVersion: string; readonly at: string }[];
}
