import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.MerchantApiApi;
import org.openapitools.client.api.QueriesApi;
import org.openapitools.client.api.SettlementApi;
import org.openapitools.client.model.*;

public class Program {
  private static final Map<String, String> env = System.getenv();
  private static final String reference = env.get("REFERENCE");
  private static final BigDecimal amount = new BigDecimal("100.5");
  private static final ObjectMapper json = ApiClient.createDefaultObjectMapper();
  private static final MerchantApiApi merchant = new MerchantApiApi(client("WEB_API_KEY"));
  private static final QueriesApi queries = new QueriesApi(client("WEB_API_KEY"));
  private static final SettlementApi settlement = new SettlementApi(client("SETTLEMENT_KEY"));

  private static ApiClient client(String key) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(env.get("BASE_URL"));
    client.setRequestInterceptor(request -> request.header("WebApiKey", env.get(key)));
    return client;
  }

  private static CreatedTransfer deposit(String referenceId) throws ApiException {
    CreateNativeDepositRequest request = new CreateNativeDepositRequest()
        .amount(amount).userId("8412").name("Ada Lovelace").username("ada").referenceId(referenceId).paymentMethod(1L)
        .hashCode(env.get("DEPOSIT_HASH"));
    return merchant.createNativeDeposit(request, null, null).getResult();
  }

  private static ErrorCode refusalOf(String referenceId) throws Exception {
    try {
      deposit(referenceId);
      return null;
    } catch (ApiException error) {
      return json.readValue(error.getResponseBody(), Failure.class).getError().getCode();
    }
  }

  /** Reads the feed until it contains the completion of the transfer, and returns the types of the transfer's events. */
  private static List<String> feedOf(UUID trackingId) throws ApiException {
    List<String> types = new ArrayList<>();
    String after = null;
    while (!types.contains("TransferCompleted")) {
      Feed page = queries.listEvents(after, null);
      for (FeedEvent event : page.getItems()) if (event.getTrackingId().equals(trackingId)) types.add(event.getType());
      after = page.getNext();
    }
    return types;
  }

  private static List<CallbackDelivery> callbacksOf(UUID trackingId) throws ApiException {
    while (true) {
      List<CallbackDelivery> items = queries.getTransferCallbacks(trackingId).getItems();
      if (!items.isEmpty()) return items;
    }
  }

  public static void main(String[] args) throws Exception {
    CreatedTransfer created = deposit(reference);
    UUID trackingId = created.getTrackingId();
    CreatedTransfer repeated = deposit(reference);
    ErrorCode refused = refusalOf("another");

    WalletLoginRequest login = new WalletLoginRequest()
        .trackingId(trackingId).userName("test@wallet.example").password("123456");
    String token = merchant.walletCustomerLogin(login, null, null).getResult();
    WalletCodeRequest code = new WalletCodeRequest().trackingId(trackingId).token(token).code("123456");
    VerifiedCode verified = merchant.wallet2Fa(code, null, null).getResult();
    Transfer completed = queries.getTransfer(trackingId);
    List<Boolean> listed = queries.listTransfers(reference, StatusFilter.COMPLETED, null, null, null, null, null)
        .getItems().stream().map(each -> each.getTrackingId().equals(trackingId)).toList();
    List<String> feed = feedOf(trackingId);
    List<CallbackDelivery> callbacks = callbacksOf(trackingId);
    ApiResponse<ResendResult> resent = queries.resendTransferCallbacksWithHttpInfo(trackingId, null, null, null);

    CreateWithdrawalRequest withdrawal = new CreateWithdrawalRequest()
        .amount(amount).userId("8412").name("Ada Lovelace").username("ada").referenceId(reference + "-out")
        .paymentMethod(1L).hashCode(env.get("WITHDRAWAL_HASH"))
        .accountNumber("TR330006100519786457841326").identityNumber(null);
    UUID open = merchant.createWithdrawal(withdrawal, null, null).getResult().getTrackingId();
    WithdrawalActionRequest action = new WithdrawalActionRequest().revision(queries.getTransfer(open).getRevision());
    Transfer claimed = settlement.claimWithdrawal(open, action, null, null);
    CompleteWithdrawalRequest completion =
        new CompleteWithdrawalRequest().revision(claimed.getRevision()).message("paid");
    Transfer paid = settlement.completeWithdrawal(open, completion, null, null);

    Callback callback = json.readValue(env.get("CALLBACK"), Callback.class);
    Callback newer = json.readValue(env.get("NEWER_CALLBACK"), Callback.class);
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("created", created.getStatusDescription());
    result.put("amount", created.getAmount());
    result.put("repeated", repeated.getTrackingId().equals(trackingId));
    result.put("refused", refused);
    result.put("nextStep", verified.getNextStep());
    result.put("accountNumber", verified.getAccountNumber());
    result.put("completed",
        List.of(completed.getStatus(), completed.getStatusDescription(), completed.getTransactionAmount()));
    result.put("listed", listed);
    result.put("feed", feed);
    result.put("callbacks", callbacks.size());
    result.put("resent", List.of(resent.getStatusCode(), resent.getData().getRequeued()));
    result.put("withdrawal",
        Arrays.asList(paid.getStatusDescription(), paid.getIdentityNumber(), paid.getTransactionAmount()));
    result.put("callback", Arrays.asList(callback.getStatus(), callback.getAmount(), callback.getMessage()));
    result.put("newerCallback", newer.getAmount());
    System.out.println(json.writeValueAsString(result));
  }
}
