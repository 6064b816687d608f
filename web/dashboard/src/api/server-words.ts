/**
 * The server's sentences about a field, by what they say. They are English for whoever calls the API; pages have words of their own for
 * these. test/dashboard/server-words.test.ts takes them from the server, so that neither changes alone.
 */
const fieldSentences: readonly (readonly [RegExp, string])[] = [
  [/ is required$/, 'required'],
  [/ (?:must not be blank|must not be blank and have no control characters)$/, 'blank'],
  [/ must have no control(?:, invisible or direction-changing)? characters\.?$/, 'hidden'],
  [/ must NOT have fewer than (?<count>\d+) characters$/, 'tooShort'],
  [/ must NOT have more than (?<count>\d+) characters$/, 'tooLong'],
  [/ must have at least (?<count>\d+) characters\.?$/, 'tooShort'],
  [/ must have at most (?<count>\d+) characters\.?$/, 'tooLong'],
  [/ must be 1 to (?<count>\d+) characters(?:, all of them visible)?\.$/, 'oneTo'],
  [/ must be (?:>=|above or equal to) (?<least>\d+)$/, 'least'],
  [/ must be <= (?<most>\d+)$/, 'most'],
  [/^It must be a whole number from (?<least>\d+) to (?<most>\d+)\.$/, 'between'],
  [/^It must be at most (?<most>[\d.]+)\.$/, 'most'],
  [/^It must be above 0\.$/, 'aboveNothing'],
  [/^It must not be below 0\.$/, 'notBelowNothing'],
  [/^The smallest amount must not be above the largest\.$/, 'smallestAboveLargest'],
  [/ must be whole: (?<currency>[A-Z]{3}) has no decimals$/, 'whole'],
  [/ must be an http or https URL$/, 'webAddress'],
  [/ must start with https:\/\/(?: or http:\/\/)?\.$/, 'webAddress'],
  [/ must be an ISO 8601 date, or a time with its zone$/, 'moment'],
  [/ has passed already$/, 'past'],
  [/ must be after from$/, 'afterFrom'],
  [/ must be at most 400 days after from$/, 'tooLongAgo'],
  [/ must be 1 to 64 of A-Z a-z 0-9 \. _ -$/, 'keyName'],
  [/ must not be one character again and again\.?$/, 'oneCharacter'],
  [/ must not be the e-mail\.?$/, 'isEmail'],
  [/ must be another one\.?$/, 'samePassword'],
]

interface Words {
  /** A key in errors.json. */
  readonly id: string
  readonly values: Readonly<Record<string, string>>
}

/** Undefined for what is said in no words of ours. */
export function fieldWords(sentence: string): Words | undefined {
  for (const [form, name] of fieldSentences) {
    const match = form.exec(sentence)
    if (match) return { id: `errors.field.${name}`, values: { ...match.groups } }
  }
  return undefined
}

/** What the server tells beside a refusal: who has claimed it. */
export function detailWords(sentence: string): Words | undefined {
  const match = /^(?<name>.+) claimed it until (?<until>\S+Z)\.$/.exec(sentence)
  return match ? { id: 'errors.detail.claimed', values: { ...match.groups } } : undefined
}
