import { type Finding, maxFindings } from '../../domain/integrity/integrity.js'

/** Longer names are those of strangers. */
const maxPlace = 300

/** The first of what does not verify, and how many there are in all: an edited log is found in one place after the other. */
export class Findings {
  readonly list: Finding[] = []
  count = 0

  add(kind: Finding['kind'], place: string, problem: string, leafIndex: number | null = null): void {
    this.count++
    if (this.list.length >= maxFindings) return
    this.list.push({ kind, place: place.slice(0, maxPlace), leafIndex, problem })
  }
}
