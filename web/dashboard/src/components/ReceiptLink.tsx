import { useText } from '../app/texts'

/** Shows a receipt as a link only if it is an http(s) address, because merchants and customers can enter any text. */
export function ReceiptLink({ url }: { url: string }) {
  const text = useText()
  if (!/^https?:\/\//i.test(url)) return <bdi>{url}</bdi>
  return (
    <a href={url} target="_blank" rel="noreferrer">
      <span className="screen-only">{text('transfer.viewReceipt')}</span>
      <bdi className="print-only">{url}</bdi>
    </a>
  )
}
