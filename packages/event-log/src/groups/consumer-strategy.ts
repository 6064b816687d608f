import type { StrategyName } from './group-definition.js'

export interface Member {
  readonly id: number
  readonly bufferSize: number
  inFlight: number
}

/** Decides which consumer receives an event. */
export interface Strategy {
  join(member: Member): void
  leave(member: Member): void
  /** Returns the member that receives the next event of a lane, or `undefined` if the event must wait. */
  choose(lane: string): Member | undefined
  delivered(lane: string): void
  /** Records that an event of the lane is no longer in flight. */
  released(lane: string): void
}

export function strategyNamed(name: StrategyName): Strategy {
  switch (name) {
    case 'RoundRobin':
      return new Ring(1)
    case 'DispatchToSingle':
      return new Ring(0)
    case 'Pinned':
    case 'PinnedByCorrelation':
      return new Pinned()
    default:
      return name satisfies never
  }
}

function hasRoom(member: Member): boolean {
  return member.inFlight < member.bufferSize
}

/**
 * RoundRobin (step 1) starts its search after the member that received the last event. DispatchToSingle (step 0) starts with that
 * member, and so keeps using a member that replaced a full one. Both skip full members.
 */
class Ring implements Strategy {
  readonly #members: Member[] = []
  #next = 0

  constructor(private readonly step: 0 | 1) {}

  join(member: Member): void {
    this.#members.push(member)
  }

  leave(member: Member): void {
    const index = this.#members.indexOf(member)
    if (index < 0) return
    this.#members.splice(index, 1)
    if (index < this.#next) this.#next -= 1
  }

  choose(): Member | undefined {
    const count = this.#members.length
    for (let i = 0; i < count; i += 1) {
      const index = (this.#next + i) % count
      const member = this.#members[index]
      if (!member || !hasRoom(member)) continue
      this.#next = index + this.step
      return member
    }
    return undefined
  }

  delivered(): void {}
  released(): void {}
}

const bucketCount = 1_024

interface Bucket {
  owner: Owner | undefined
  inFlight: number
}

interface Owner {
  readonly member: Member
  buckets: number
}

/**
 * Delivers each lane to a single consumer. Lanes are hashed to buckets, so memory does not grow with their number. At its first event,
 * a bucket is assigned to the consumer with the fewest. A bucket moves to another consumer only while none of its events is in flight:
 * otherwise two consumers would handle a lane simultaneously.
 */
class Pinned implements Strategy {
  readonly #owners = new Map<Member, Owner>()
  readonly #buckets: Bucket[] = Array.from({ length: bucketCount }, () => ({ owner: undefined, inFlight: 0 }))

  join(member: Member): void {
    this.#owners.set(member, { member, buckets: 0 })
    for (const bucket of this.#buckets) this.#rebalance(bucket)
  }

  leave(member: Member): void {
    const owner = this.#owners.get(member)
    this.#owners.delete(member)
    for (const bucket of this.#buckets) if (bucket.owner === owner) bucket.owner = undefined
  }

  choose(lane: string): Member | undefined {
    const bucket = this.#bucketOf(lane)
    if (!bucket.owner) {
      bucket.owner = this.#leastLoaded()
      if (!bucket.owner) return undefined
      bucket.owner.buckets += 1
    }
    return hasRoom(bucket.owner.member) ? bucket.owner.member : undefined
  }

  delivered(lane: string): void {
    this.#bucketOf(lane).inFlight += 1
  }

  released(lane: string): void {
    const bucket = this.#bucketOf(lane)
    bucket.inFlight -= 1
    this.#rebalance(bucket)
  }

  #rebalance(bucket: Bucket): void {
    if (!bucket.owner || bucket.inFlight > 0) return
    const fewest = this.#leastLoaded()
    if (!fewest || bucket.owner.buckets < fewest.buckets + 2) return
    bucket.owner.buckets -= 1
    bucket.owner = fewest
    fewest.buckets += 1
  }

  #leastLoaded(): Owner | undefined {
    let fewest: Owner | undefined
    for (const owner of this.#owners.values()) {
      if (owner.member.bufferSize > 0 && (!fewest || owner.buckets < fewest.buckets)) fewest = owner
    }
    return fewest
  }

  /** Hashes the lane with FNV-1a, which distributes names well even if they differ only in the last character. */
  #bucketOf(lane: string): Bucket {
    let hash = 0x811c9dc5
    for (let i = 0; i < lane.length; i += 1) hash = Math.imul(hash ^ lane.charCodeAt(i), 0x01000193)
    return this.#buckets[(hash >>> 0) % bucketCount] as Bucket
  }
}
