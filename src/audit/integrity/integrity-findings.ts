import { type Finding, maxFindings } from '../../domain/integrity.js'

/** Only streams of other programs have longer names. */
const maxPlaceLength = 300

/** Keeps the first findings of a verification, and counts all of them, because an edited log can fail in many places. */
export class Findings {
  readonly list: Finding[] = []
  count = 0

  add(kind: Finding['kind'], place: string, problem: string, leafIndex: number | null = null): void {
    this.count++
    if (this.list.length >= maxFindings) return
    this.list.push({ kind, place: place.slice(0, maxPlaceLength), leafIndex, problem })
  }
}
