import { ibanIn } from '../../src/kernel/account-number.js'
import { announce, text } from './page-data.js'

const copiedForMs = 2_000

/** Adds buttons that copy the reference and the account that the customer pays to, which may be in the instructions only. */
export function addCopyButtons(): void {
  const list = document.querySelector('.give')
  const account = ibanIn(document.querySelector('.instructions')?.textContent ?? '')
  const isListed = ibanIn(list?.textContent ?? '') !== undefined
  if (list && !isListed && account !== undefined) list.prepend(row(text('accountNumber'), account))
  for (const value of document.querySelectorAll('.give dd')) value.after(copyButton(value.textContent ?? ''))
}

function row(label: string, value: string): HTMLElement {
  const [line, term, shown] = ['div', 'dt', 'dd'].map((name) => document.createElement(name)) as [
    HTMLElement,
    HTMLElement,
    HTMLElement,
  ]
  term.textContent = label
  shown.textContent = value
  line.append(term, shown)
  return line
}

function copyButton(value: string): HTMLElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet copy'
  button.textContent = text('copy')
  button.addEventListener('click', async () => {
    // Banks expect an account number without gaps.
    const plain = ibanIn(value) ? value.replaceAll(' ', '') : value
    const isCopied = await navigator.clipboard.writeText(plain).then(
      () => true,
      () => false,
    )
    const outcome = text(isCopied ? 'copied' : 'copyFailed')
    button.textContent = outcome
    announce(outcome)
    setTimeout(() => {
      button.textContent = text('copy')
    }, copiedForMs)
  })
  // A description list contains nothing else.
  const cell = document.createElement('dd')
  cell.className = 'copy-cell'
  cell.append(button)
  return cell
}
