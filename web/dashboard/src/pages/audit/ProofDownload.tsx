import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Problem } from '../../components/Problem'

/** Shows to whoever has the verifier's key that the transfer's events are in the log, and were all along. */
export function ProofDownload({ trackingId }: { readonly trackingId: string }) {
  const text = useText()
  const saving = useAction({ run: () => api.save(`/audit/proof/${encodeURIComponent(trackingId)}`) })
  return (
    <>
      <Button pending={saving.pending} onPress={() => saving.start()}>
        {text('audit.proof')}
      </Button>
      <Problem error={saving.error} reading />
    </>
  )
}
