import { maxSearchedLength, typedCode, typedEmail, typedNumber, typedText } from '../../../../src/kernel/typed-text'

/** The kinds of text fields. A typed or pasted text is cleaned by its kind before it is checked and sent. */
export const fieldForms = {
  text: typedText,
  url: typedText,
  email: typedEmail,
  number: typedNumber,
  code: typedCode,
  password: (text: string) => text,
} as const
export type FieldKind = keyof typeof fieldForms

/** Returns a cleaned text that the server accepts for a search. */
export const searchedText = (typed: string): string => typedText(typed).slice(0, maxSearchedLength)

/** Returns the values of a form: cleaned texts, and amounts in minor units. */
export function dataOf(form: HTMLFormElement): FormData {
  const data = new FormData(form)
  for (const field of form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('[data-kind]')) {
    if (data.has(field.name)) data.set(field.name, fieldForms[field.dataset.kind as FieldKind](field.value))
  }
  for (const input of form.querySelectorAll<HTMLInputElement>('input[data-minor]')) {
    data.set(input.name, input.dataset.minor ?? '')
  }
  return data
}

/** Returns the trimmed text of a field, or '' if the form does not have it. */
export function fieldText(data: FormData, name: string): string {
  const value = data.get(name)
  return typeof value === 'string' ? value.trim() : ''
}

/** Returns the entries of a field that holds one entry per line, or entries separated by commas, semicolons or spaces. */
export function fieldLines(data: FormData, name: string): string[] {
  const entries = fieldText(data, name).split(/[\s,;]/)
  return entries.filter((entry) => entry !== '')
}

/** Returns the minor units of an amount field, or `undefined` if it is empty. */
export function fieldMinor(data: FormData, name: string): number | undefined {
  const value = fieldText(data, name)
  return value === '' ? undefined : Number(value)
}

/** Returns the input that shows the error of a field: the field itself, or the list or object that contains it. */
export function inputOf(field: string, inputs: readonly string[]): string | undefined {
  let path = field
  while (path !== '' && !inputs.includes(path)) {
    path = path.slice(0, Math.max(path.lastIndexOf('.'), path.lastIndexOf('['), 0))
  }
  return path || undefined
}
