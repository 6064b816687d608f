/** The rules of files from banks. `{place}` is a line, or a line and a column such as `12:345`. No value is about a person. */
export const bankFileRules = {
  'bank-file-unrecognised':
    'The file is not a bank file that can be read: camt.052, camt.053, camt.054, pain.002, MT940, MT942, or CSV with a mapping of its columns.',
  'bank-file-zipped': 'The file is a ZIP archive. Unpack it, and send the files that it contains.',
  'bank-file-encoding': 'The file contains bytes that are not text in {encoding}.',
  'bank-file-damaged': 'The file cannot be read from line {place}. Download it again from the bank.',
  'bank-file-doctype': 'The file has a DOCTYPE in line {place}, which bank files do not have.',
  'bank-file-too-deep': 'The elements in line {place} are nested deeper than {most} levels.',
  'bank-text-too-long': 'The text in line {place} is longer than {most} characters.',
  'bank-entry-too-large': 'The entry in line {place} is too large. An entry can have at most {most} payments.',
  'bank-value-missing': '{name} is missing in line {place}.',
  'bank-value-unknown': '{name} has an unknown value in line {place}.',
  'bank-amount-invalid': 'Line {place} must have an amount with at most two decimals.',
  'bank-date-invalid': 'Line {place} must have a valid date.',
} as const
