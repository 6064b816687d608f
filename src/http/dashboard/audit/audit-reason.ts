import { isVisible } from '../../../kernel/text.js'
import { invalid } from '../../refusals.js'

/** Returns the reason without surrounding spaces. @throws RequestError if it is blank or has hidden characters */
export function checkedReason(given: string): string {
  const reason = given.trim()
  if (reason === '') throw invalid('reason', 'blank')
  if (!isVisible(reason)) throw invalid('reason', 'hidden-characters')
  return reason
}
