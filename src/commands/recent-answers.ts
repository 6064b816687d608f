interface Asked<Value> {
  readonly answer: Promise<Value>
  /** Undefined while it is under way. */
  endedAtMs?: number
}

/**
 * Bounds how often something is asked: whoever asks the same while a question is under way, or within `keptMs` of its end,
 * gets that answer. A failure is an answer, too, or what is away would be asked most.
 */
export class RecentAnswers<Value> {
  private readonly asked = new Map<string, Asked<Value>>()

  constructor(
    /** Monotonic. */
    private readonly nowMs: () => number,
    private readonly keptMs: number,
    /** Beyond it the question that was asked first is forgotten. */
    private readonly maxKeys: number,
  ) {}

  ask(key: string, question: () => Promise<Value>): Promise<Value> {
    const before = this.asked.get(key)
    if (before && (before.endedAtMs === undefined || this.nowMs() - before.endedAtMs < this.keptMs))
      return before.answer
    this.asked.delete(key)
    if (this.asked.size >= this.maxKeys) this.asked.delete(this.asked.keys().next().value!)
    const asked: Asked<Value> = {
      answer: question().finally(() => {
        asked.endedAtMs = this.nowMs()
      }),
    }
    this.asked.set(key, asked)
    return asked.answer
  }

  /** The next one asks: what was answered is known to have changed. */
  forget(key: string): void {
    this.asked.delete(key)
  }
}
